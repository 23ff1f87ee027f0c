"""The settings of the service, from the table that the command line and the environment are made from."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from forewarn.config import ENVIRONMENT_PREFIX, SETTINGS, Setting, Settings
from tools.markdown import block, code, page, table

_INTRODUCTION = f"""\
What `forewarn serve` is told. A flag wins over the environment, the environment over the file that `--config`
names, the file over the default. A setting that may be given several times is a list in the file, and separated
by commas in the environment. A switch is `true` or `false` in the file, and `1` or `0` in the environment. In the
file, a name that is in no row here is refused; other variables that begin with `{ENVIRONMENT_PREFIX}` are not
looked at. How they look on the command line: [forewarn serve](cli.md#forewarn-serve)."""


def write() -> str:
    """The page."""
    defaults = Settings()
    rows = [
        (
            code(setting.name),
            code(setting.variable),
            code(f"{setting.flag} {setting.metavar}".strip()),
            default_of(setting, defaults),
            setting.help,
        )
        for setting in SETTINGS
    ]
    names = ("metadata", "store", "clock", "user_operation_limit", "demo")
    example = "\n".join(_in_file(setting, defaults) for setting in SETTINGS if setting.name in names)
    return page(
        "Settings",
        _INTRODUCTION,
        table(("in the file", "in the environment", "flag", "default", "what it means"), rows),
        "## A file",
        "Some defaults, as they would be written:",
        block("toml", example),
    )


def default_of(setting: Setting, defaults: Settings) -> str:
    """The default as one would write it; nothing where there is none."""
    value = getattr(defaults, setting.name)
    if isinstance(value, Mapping):
        return ""
    return code(_plain(value)) if value is not None else ""


def _plain(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case float():
            return f"{value:g}"
        case (str() as host, int() as port):
            return f"{host}:{port}"
        case tuple():
            return ",".join(_plain(each) for each in value)
        case _:
            return str(value)


def _in_file(setting: Setting, defaults: Settings) -> str:
    value = getattr(defaults, setting.name)
    text = _plain(value)
    if setting.repeats:
        text = "[" + ", ".join(f'"{each}"' for each in text.split(",")) + "]"
    elif isinstance(value, str) or not isinstance(value, bool | int | float):
        text = f'"{text}"'
    return f"{setting.name} = {text}"
