"""Reading a table of the file by the table of its keys. Whatever is wrong is noted, and reading goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from forewarn.agent.compat import dataclass
from forewarn.agent.config_keys import Key
from forewarn.agent.config_problems import Problem
from forewarn.agent.config_values import closest
from forewarn.agent.toml_places import Path as TomlPath
from forewarn.agent.toml_places import Places

WRONG = object()  # in place of a value that cannot be read; None may be one

_LONGEST_LIST = 8


@dataclass(frozen=True, slots=True)
class SecretText:
    """A secret, and where it comes from."""

    text: str
    reference: Mapping[str, str]


@dataclass(slots=True)
class Reading:
    """A file that is being read, and what was found wrong with it."""

    file: str = ""
    places: Places = field(default_factory=Places)
    environment: Mapping[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    rule_paths: list[TomlPath] = field(default_factory=list)  # of the rules that could be read
    step_paths: dict[tuple[str, str], TomlPath] = field(default_factory=dict)  # by profile and step
    secrets: dict[TomlPath, SecretText] = field(default_factory=dict)  # that were read, by their places
    said_by: dict[str, str] = field(default_factory=dict)  # by setting: the variable or flag that says it

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)

    @property
    def directory(self) -> Path:
        """Where paths in the file begin."""
        return self.path.parent

    def refuse(self, path: TomlPath, message: str, advice: str = "") -> None:
        """Something that cannot stay."""
        self.problems.append(Problem(self.file, self.places.line(path), message, advice))

    def refuse_setting(self, name: str, message: str, advice: str = "") -> None:
        """A setting that cannot stay, wherever it was said."""
        if name in self.said_by:
            self.problems.append(Problem(self.said_by[name], 0, message, advice))
        else:
            self.refuse((name,), message, advice)

    def warn(self, path: TomlPath, message: str, advice: str = "") -> None:
        """Something that is probably not meant."""
        self.warnings.append(Problem(self.file, self.places.line(path), message, advice))

    def value(self, path: TomlPath, read: Callable[[Any], Any], said: object) -> Any:  # noqa: ANN401 - of any type
        """The value as it is worked with; WRONG, and a word about it, where it is that."""
        try:
            return read(said)
        except ValueError as problem:
            self.refuse(path, sentence(f"{path[-1]}: {problem}"))
            return WRONG

    def table(self, path: TomlPath, said: object, form: str) -> Mapping[str, Any] | None:
        """A table; None, and a word about it, where it is none."""
        if isinstance(said, Mapping):
            return said
        self.refuse(path, f"{path[-1]} is no table.", f"Write it as {form}.")
        return None

    def tables(self, path: TomlPath, said: object, form: str) -> list[Mapping[str, Any]]:
        """A list of tables."""
        if isinstance(said, list) and all(isinstance(each, Mapping) for each in said):
            return said
        self.refuse(path, f"{path[-1]} is no list of tables.", f"Write each as {form}.")
        return []

    def keys(self, path: TomlPath, said: Mapping[str, Any], keys: Sequence[Key], what: str) -> dict[str, Any]:
        """The keys of the table that are in `keys`, by the parts that they become."""
        values = {}
        for key in keys:
            if key.name in said:
                value = self.value((*path, key.name), key.read, said[key.name])
                if value is not WRONG:
                    values[key.target] = value
            elif key.is_required:
                self.refuse(path, f"{what} says no {key.name}.", sentence(f"Add {key.name}: {key.help}"))
        return values

    def unknown(self, path: TomlPath, said: Iterable[str], known: Iterable[str], what: str) -> None:
        """Refuse every key that is not known, and say which was probably meant."""
        known = list(known)
        for name in said:
            if name not in known:
                close = closest(name, known)
                advice = f"Did you mean {close}?" if close else f"It can be {_listed(known)}."
                self.refuse((*path, name), f"{what} has no key {name}.", advice)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LONGEST_LIST])
    return shown if len(names) <= _LONGEST_LIST else f"{shown} or others"


def sentence(text: str) -> str:
    """The text with its end."""
    return text if text.endswith((".", "?")) else f"{text}."
