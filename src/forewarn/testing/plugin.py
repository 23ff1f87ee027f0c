"""The pytest plugin: the fixtures `forewarn` and `forewarn_session`.

pytest imports this module in every project that has forewarn installed; what a service needs is imported only
where a test is about to run that asks for one, and then before the first, not on its time.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from forewarn.testing.service import Service

_MARKER = (
    "forewarn(**settings): settings of `forewarn serve` for the fixture `forewarn` of this test; "
    "forewarn_session takes none"
)
_SERVICE = "forewarn.testing.service"
_PACKAGE = Path(__file__).parents[1]
_FIXTURES = ("forewarn", "forewarn_session")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Import what a service needs, if one of the tests is going to ask for one."""
    if session.config.option.collectonly:
        return
    if any(name in _FIXTURES for item in session.items for name in getattr(item, "fixturenames", ())):
        import_module(_SERVICE)


@pytest.fixture
def forewarn(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service of the test's own, with a virtual clock; the same ids in every run of the same test."""
    settings: dict[str, Any] = {"seed": crc32(request.node.nodeid.encode())}
    for marker in reversed(list(request.node.iter_markers("forewarn"))):  # the nearest one last
        if marker.args:
            raise import_module("forewarn.emulator").Refused(
                f"The marker forewarn takes settings by their names; {marker.args[0]!r} has none.",
                "Write it like pytest.mark.forewarn(lead=2).",
            )
        settings |= marker.kwargs
    with _service(**settings) as service:
        yield service


@pytest.fixture(scope="session")
def forewarn_session() -> Iterator[Service]:
    """One service for all tests that ask for it, without settings; with pytest-xdist, one for each worker."""
    with _service() as service:
        yield service


def _service(**settings: Any) -> Service:  # noqa: ANN401 - settings are of any type
    made: Service = import_module(_SERVICE).Service(**settings)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a refusal at the test's own line; below other failures, tell of all events."""
    if call.excinfo is not None:
        _leave_out_our_frames(item, call.excinfo)
    report = yield
    if report.failed and call.when == "call" and call.excinfo is not None:
        used = getattr(item, "funcargs", {})
        for name in _FIXTURES:
            if story := _story_of(used.get(name), call.excinfo.value):
                report.sections.append((f"what happened in {name}", story))
    return report


def _leave_out_our_frames(item: pytest.Item, failure: pytest.ExceptionInfo[BaseException]) -> None:
    """End the traceback of a refusal where the test called us; `--full-trace` shows all of it."""
    emulator = sys.modules.get("forewarn.emulator")
    if emulator is None or not failure.errisinstance(emulator.Refused) or item.config.getoption("fulltrace"):
        return
    last = failure.tb
    while last.tb_next is not None:
        called = Path(last.tb_next.tb_frame.f_code.co_filename)
        if called == Path(__file__):
            return  # a fixture of ours, which no line of the test has called
        if _PACKAGE in called.parents:
            last.tb_next = None
            return
        last = last.tb_next


def _story_of(service: object, problem: BaseException) -> str:
    """What is to be told; nothing of what is no service of ours, and nothing twice."""
    if _SERVICE not in sys.modules:
        return ""
    from forewarn.testing.life import Unmet  # noqa: PLC0415 - it is there by now
    from forewarn.testing.service import Service  # noqa: PLC0415 - it is there by now

    if not isinstance(service, Service) or isinstance(problem, Unmet):
        return ""
    try:
        return service.story
    except Exception as trouble:  # noqa: BLE001 - whatever it is, the test's own failure is what counts
        return f"nothing can be told: {trouble}"
