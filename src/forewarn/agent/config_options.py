"""The options of a step's handler, by the table that the handler has of them. Secrets are read here too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forewarn.agent.config_reading import WRONG, Reading, SecretText, sentence
from forewarn.agent.config_secrets import may_be_read_by_all, read_secret, reference_to
from forewarn.agent.config_values import as_flag, as_full_text, as_text, as_texts, seconds, whole
from forewarn.agent.handlers.base import Handler, Option
from forewarn.agent.secrecy import SHORTEST
from forewarn.agent.toml_places import Path as TomlPath

_SECRET_WORDS = ("secret", "password", "token")


def _as_numbers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        return (whole(0)(value),)
    return tuple(whole(0)(each) for each in value)


def _as_command(value: object) -> str | tuple[str, ...]:
    """A text is for a shell, which the handler has to be told; a list is a program and its arguments."""
    if isinstance(value, str):
        return as_full_text(value)
    if isinstance(value, list) and value:
        return (as_full_text(value[0]), *(as_text(each) for each in value[1:]))
    raise ValueError('it is no command; write it like ["/usr/bin/program", "argument"]')


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "text": as_text,
    "texts": as_texts,
    "number": whole(0),
    "numbers": _as_numbers,
    "seconds": seconds(),
    "flag": as_flag,
    "path": as_full_text,
    "command": _as_command,
}


def read_options(
    reading: Reading, path: TomlPath, said: Mapping[str, Any], handler: Handler, what: str
) -> dict[str, Any]:
    """The options of a step that its handler knows; what is left out is left to the handler."""
    for option in handler.options:
        if option.is_required and option.name not in said:
            reading.refuse(path, f"{what} says no {option.name}.", sentence(f"Add {option.name}: {option.help}"))
    return _options(reading, path, said, handler.options)


def read_secret_at(reading: Reading, path: TomlPath, said: object) -> Any:  # noqa: ANN401 - a text, or WRONG
    """The secret itself. One that stands in a file that everybody may read gets a word about it."""
    value = reading.value(path, lambda it: read_secret(it, reading.directory, reading.environment), said)
    if value is not WRONG:
        reading.secrets[path] = SecretText(value, reference_to(said, value, reading.directory))
    is_bare = isinstance(said, str) and value is not WRONG and _sounds_secret(path)
    if isinstance(value, str) and len(value) < SHORTEST and (is_bare or not isinstance(said, str)):
        reading.warn(
            path,
            f"{path[-1]} is too short to be kept out of notes and logs.",
            f"Take a secret of {SHORTEST} letters or more.",
        )
    if is_bare and may_be_read_by_all(reading.path):
        reading.warn(
            path,
            f"{path[-1]} is a secret in a file that everybody may read.",
            f'Run chmod o-rwx {reading.file}, or keep it elsewhere: {path[-1]} = {{ file = "..." }}.',
        )
    return value


def _options(reading: Reading, path: TomlPath, said: Mapping[str, Any], known: Sequence[Option]) -> dict[str, Any]:
    values = {}
    for option in known:
        if option.name in said:
            value = _option(reading, (*path, option.name), option, said[option.name], known)
            if value is not WRONG:
                values[option.name] = value
    return values


def _option(reading: Reading, path: TomlPath, option: Option, said: object, known: Sequence[Option]) -> Any:  # noqa: ANN401 - of any type
    if option.type == "secret":
        return read_secret_at(reading, path, said)
    if option.type not in {"table", "options"}:
        return reading.value(path, _FORMS[option.type], said)
    table = reading.table(path, said, "{ name = ... }")
    if table is None:
        return WRONG
    if option.type == "table":
        values = {name: _text_of_table(reading, (*path, name), each) for name, each in table.items()}
        return {name: value for name, value in values.items() if value is not WRONG}
    inner = [each for each in known if each.name != option.name]
    reading.unknown(path, table, [each.name for each in inner], str(path[-1]))
    return _options(reading, path, table, inner)


def _text_of_table(reading: Reading, path: TomlPath, said: object) -> Any:  # noqa: ANN401 - a text, or WRONG
    """A text or a secret. An empty one may stand here: an empty variable is not the same as none."""
    return said if said == "" else read_secret_at(reading, path, said)


def _sounds_secret(path: TomlPath) -> bool:
    """Whether a text there is one. An address may be a secret, and most are not."""
    return any(word in str(part).lower() for part in path[-2:] for word in _SECRET_WORDS)
