"""Lines of log: JSON for programs, plain words on a terminal. With fields: event, step, phase. No secrets."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, TextIO

from forewarn.agent.handlers.base import Handler
from forewarn.agent.policy import Policy, Step
from forewarn.agent.secrecy import concealing
from forewarn.agent.settings import Settings
from forewarn.agent.writing import Writer

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_SHORTEST_PERHAPS = 8  # of texts that may be secrets and mostly are not
_FLUSH_SECONDS = 2.0  # for lines that nobody takes; whoever ends waits no longer


def begin_logging(settings: Settings, secrets: Iterable[str], stream: TextIO | None = None) -> Outlet:
    """From now on `forewarn.agent` logs to standard error, or to the stream; until the outlet is closed."""
    stream = stream or sys.stderr
    is_plain = settings.log_format == "plain" or (settings.log_format == "auto" and stream.isatty())
    conceal = concealing(secrets)
    outlet = Outlet(stream, Plain(conceal) if is_plain else Json(conceal))
    logger = logging.getLogger("forewarn.agent")
    logger.handlers = [outlet]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logging.raiseExceptions = False  # a log that nobody takes any more ends nothing
    return outlet


class Outlet(logging.Handler):
    """Gives lines to the thread that writes them: whoever logs never waits for whoever reads."""

    def __init__(self, stream: TextIO, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._writer = Writer(stream, self._word_for)

    def emit(self, record: logging.LogRecord) -> None:
        """Have the record written."""
        try:
            self._writer.put(self.format(record))
        except Exception:  # noqa: BLE001 - a line that cannot be made ends nothing
            self.handleError(record)

    def flush(self, seconds: float = _FLUSH_SECONDS) -> None:
        """Wait until all lines are written, but no longer than this."""
        self._writer.flush(seconds)

    def close(self) -> None:
        """Take no more lines; those that are there are written, if somebody takes them soon."""
        self.flush()
        self._writer.close()
        super().close()

    def conceal(self, secrets: Iterable[str]) -> None:
        """Keep these out of what is logged from now on."""
        if isinstance(self.formatter, _Discreet):
            self.formatter.conceal = concealing(secrets)

    def _word_for(self, lost: int) -> str:
        words = f"lines of log that are missing here, as nobody took them: {lost}"
        return self.format(logging.LogRecord("forewarn.agent", logging.WARNING, "", 0, words, (), None))


def secrets_of(settings: Settings, find: Callable[[str], Handler], policies: Iterable[Policy] = ()) -> set[str]:
    """Return all that the settings and these policies know and nobody should read."""
    found = {settings.peers.secret} if settings.peers else set()
    for policy in (settings.policy, *policies):
        for profile in policy.profiles.values():
            for step in profile.steps:
                found |= _secrets_of_step(step, find)
    return found


def _secrets_of_step(step: Step, find: Callable[[str], Handler]) -> set[str]:
    if not step.uses:  # an older journal did not note which
        return set()
    try:
        kinds = {each.name: each.type for each in find(step.uses).options}
    except (LookupError, ImportError):
        return set()
    found: set[str] = set()
    for name, value in step.options.items():
        if kinds.get(name) == "secret":
            found |= set(_texts(value))
        elif kinds.get(name) == "table":
            found |= {text for text in _texts(value) if len(text) >= _SHORTEST_PERHAPS}
    return found


def _texts(said: Any) -> Iterable[str]:  # noqa: ANN401 - whatever an option may be
    if isinstance(said, str):
        yield said
    elif isinstance(said, Mapping):
        for each in said.values():
            yield from _texts(each)
    elif isinstance(said, Collection) and not isinstance(said, bytes):
        for each in said:
            yield from _texts(each)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What was said beside the message."""
    return {name: value for name, value in vars(record).items() if name not in _OWN and value is not None}


class _Discreet(logging.Formatter):
    """A formatter that keeps secrets."""

    def __init__(self, conceal: Callable[[str], str]) -> None:
        super().__init__()
        self.conceal = conceal  # the text without what nobody should read

    def _trace(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info else ""


class Json(_Discreet):
    """An object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": self.conceal(record.getMessage()),
            **{name: self._in_json(value) for name, value in fields_of(record).items()},
        }
        if trace := self._trace(record):
            said["trace"] = self.conceal(trace)
        return json.dumps(said, ensure_ascii=False)

    def _in_json(self, value: object) -> object:
        """A number as it is, anything else as a text."""
        return value if isinstance(value, (int, float)) else self.conceal(str(value))


class Plain(_Discreet):
    """A line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, timezone.utc)
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        said = " ".join(f"{name}={_quoted(self.conceal(str(value)))}" for name, value in fields_of(record).items())
        trace = "\n".join(_harmless(each) for each in self.conceal(self._trace(record)).splitlines())
        line = f"{at:%H:%M:%SZ} {level}{_harmless(self.conceal(record.getMessage()))}" + (
            f"  {said}" if said else ""
        )
        return f"{line}\n{trace}" if trace else line


def _quoted(value: str) -> str:
    is_plain = value and not any(each.isspace() for each in value)
    return _harmless(value if is_plain else json.dumps(value, ensure_ascii=False))


def _harmless(text: str) -> str:
    """A text that does nothing to a terminal but stand there: some of the words come from outside."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
