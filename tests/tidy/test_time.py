"""Time is handed in: nobody sleeps, and nobody looks at a clock of their own."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tidy.rules import SOURCE, TESTS, assert_kept, attributes, judge

_SLEEPS = {"time.sleep"}
_CLOCKS = {
    f"time.{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
    for unit in ("", "_ns")
} | {"time.gmtime", "time.localtime", "time.ctime", "time.strftime"}
_CLOCKS |= {f"{kind}.{name}" for kind in ("datetime", "date") for name in ("now", "utcnow", "today")}

MAY_READ_A_CLOCK = {
    "src/forewarn/clock.py": "it is the clock",
    "src/forewarn/agent/clock.py": "it is the agent's clock",
    "src/forewarn/agent/http1.py": "an exchange over the network takes real time; a test hands in its own",
    "src/forewarn/agent/metadata.py": "the same, and for how long there was no answer",
    "src/forewarn/agent/waking.py": "waiting for a socket takes real time; a test hands in its own",
    "src/forewarn/edge/context.py": "limits and time-outs of guests run on real time; a test hands in its own",
    "src/forewarn/service.py": "guests are watched on the real time that the edge answers by",
    "src/forewarn/control/plane.py": "how old a poll is, is told by the edge's real time; a test hands in its own",
    "src/forewarn/control/health.py": "a health check takes real time; a test hands in its own",
    "src/forewarn/control/health_probes.py": "the same, for as long as a command runs",
    "src/forewarn/control/http_call.py": "a call over the network takes real time",
    "src/forewarn/control/timekeeper.py": "a clock that plays follows real time; a test hands in its own",
    "src/forewarn/operator/sign_in/guesses.py": "who guesses does so in real time; a test hands in its own",
    "src/forewarn/control/push/courier.py": "deliveries run on real time, as sockets do; a test hands in its own",
    "src/forewarn/agent/handlers/deadline.py": "what handlers wait for runs on real time; a test hands in its own",
    "src/forewarn/operator/waits.py": "a share of real time goes into comparing; a test hands in its own",
    "src/forewarn/recording/playback.py": "a replay follows real time; a test hands in its own",
    "src/forewarn/scenario/play/guests.py": "a scripted guest waits for an answer in real time",
    "src/forewarn/cli/scenario_screen.py": "who looks at a line does so in real time; a test hands in its own",
    "src/forewarn/control/runner.py": "polls are written down once a minute of real time, on any clock",
    "src/forewarn/store/opening.py": "a server that cannot be reached is left alone for a moment of real time",
    "src/forewarn/store/postgresql.py": "a server is silent in real time",
}


def sleeps(path: str, text: str) -> Iterator[str]:
    for line, name in attributes(text):
        if name in _SLEEPS:
            yield (
                f"{path}:{line}: {name}. In a test advance the virtual clock, or use tests.running.wait_until; "
                "elsewhere wait for what you wait for."
            )


def sleeping_tests(path: str, text: str) -> Iterator[str]:
    yield from sleeps(path, text)
    for line, name in attributes(text):
        if name == "asyncio.sleep":
            yield f"{path}:{line}: {name} in a test. Await what you wait for, or advance the virtual clock."


def clock_reads(path: str, text: str) -> Iterator[str]:
    for line, name in attributes(text):
        if name.removeprefix("datetime.datetime.").removeprefix("datetime.date.") in {"now", "utcnow", "today"}:
            name = name.removeprefix("datetime.")  # noqa: PLW2901 - the module's name in front
        if name in _CLOCKS and path not in MAY_READ_A_CLOCK:
            yield (
                f"{path}:{line}: {name}. In core take `now` as an argument; elsewhere take a Clock in the "
                "constructor and ask that."
            )


def test_nothing_in_the_product_sleeps_on_a_thread():
    assert_kept(
        sleeps,
        SOURCE,
        planted=["import time\ntime.sleep(1)\n", "from time import sleep\n"],
        fine=["await asyncio.sleep(1)\n"],
    )


def test_no_test_sleeps():
    assert_kept(
        sleeping_tests,
        TESTS,
        planted=["import time\ntime.sleep(1)\n", "from time import sleep\n", "await asyncio.sleep(1)\n"],
        fine=["wait_until(is_done, 'it')\n"],
        path="tests/planted.py",
    )


def test_only_the_clock_and_named_places_read_a_clock():
    assert_kept(
        clock_reads,
        SOURCE,
        planted=[
            "now = datetime.now(UTC)\n",
            "import datetime\nnow = datetime.datetime.now()\n",
            "day = date.today()\n",
            "import time\nread = time.monotonic\n",
            "from time import perf_counter\n",
        ],
        fine=["now = clock.now()\n", "at = datetime.fromisoformat(text)\n", "from datetime import timedelta\n"],
    )


def test_every_place_that_may_read_a_clock_still_does():
    anywhere = {f"src/forewarn/as-if/{path}": SOURCE[path] for path in MAY_READ_A_CLOCK if path in SOURCE}

    reading = {
        finding.removeprefix("src/forewarn/as-if/").partition(":")[0] for finding in judge(clock_reads, anywhere)
    }

    assert set(MAY_READ_A_CLOCK) - reading == set(), "take these out of MAY_READ_A_CLOCK"
