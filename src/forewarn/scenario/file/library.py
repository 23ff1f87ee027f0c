"""Find scenarios: those that come with forewarn by name, others by file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from forewarn.errors import ConfigError, UsageProblem
from forewarn.scenario.file.reader import ScenarioText, read_scenario
from forewarn.wire.choices import suggest

_LIBRARY = files("forewarn.scenario") / "library"
_SUFFIX = ".toml"


def names() -> list[str]:
    """The names of the scenarios that come with forewarn."""
    return sorted(each.name.removesuffix(_SUFFIX) for each in _LIBRARY.iterdir() if each.name.endswith(_SUFFIX))


def text_of(name_or_file: str) -> tuple[str, str]:
    """The text of a scenario and the name of its file; what exists, or looks like a path, is a file."""
    path = Path(name_or_file)
    if path.suffix == _SUFFIX or len(path.parts) > 1 or (path.is_file() and name_or_file not in names()):
        return _read(path), name_or_file
    if name_or_file not in names():
        raise UsageProblem(f"There is no scenario {name_or_file}.", suggest(name_or_file, names()))
    file = f"{name_or_file}{_SUFFIX}"
    return (_LIBRARY / file).read_text(encoding="utf-8"), file


def find(name_or_file: str) -> ScenarioText:
    """Read the scenario with that name or in that file, without checking it."""
    return read_scenario(*text_of(name_or_file))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except OSError as problem:
        hint = "Name another file, or a scenario of: forewarn scenario list"
        raise ConfigError(f"Cannot read {path}: {problem.strerror}.", hint) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from None
