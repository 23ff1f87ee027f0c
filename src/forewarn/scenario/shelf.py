"""Where scenarios come from: the ones that come with forewarn, by name, and files."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from forewarn.errors import ConfigError, UsageProblem
from forewarn.scenario.file import ScenarioText, read_scenario
from forewarn.wire.choices import suggest

_LIBRARY = files("forewarn.scenario") / "library"
_SUFFIX = ".toml"


def names() -> list[str]:
    """The scenarios that come with forewarn."""
    return sorted(each.name.removesuffix(_SUFFIX) for each in _LIBRARY.iterdir() if each.name.endswith(_SUFFIX))


def text_of(name_or_file: str) -> tuple[str, str]:
    """The text of a scenario, and what its file is called; a file is one that exists, or is named like one."""
    path = Path(name_or_file)
    if path.suffix == _SUFFIX or len(path.parts) > 1 or (path.is_file() and name_or_file not in names()):
        return _read(path), name_or_file
    if name_or_file not in names():
        raise UsageProblem(f"There is no scenario {name_or_file}.", suggest(name_or_file, names()))
    file = f"{name_or_file}{_SUFFIX}"
    return (_LIBRARY / file).read_text(encoding="utf-8"), file


def find(name_or_file: str) -> ScenarioText:
    """The scenario of that name, or in that file; it is read, and not yet checked."""
    return read_scenario(*text_of(name_or_file))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except OSError as problem:
        hint = "Name another file, or one of: forewarn scenario list"
        raise ConfigError(f"{path} cannot be read: {problem.strerror}.", hint) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from None
