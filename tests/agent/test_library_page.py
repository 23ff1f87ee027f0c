"""What programs import, and the samples of the page about it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from typing import Any

import pytest

import forewarn.agent
from tests.agent.azure import Azure, event
from tests.waiting import ROOT, wait_until

PAGE = (ROOT / "docs/howto/agent-library.md").read_text()
SAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_programs_find_everything_in_one_place():
    found = {name: getattr(forewarn.agent, name) for name in forewarn.agent.__all__}

    assert all(found.values())
    with pytest.raises(AttributeError, match="has no attribute 'wacth'"):
        _ = forewarn.agent.wacth


def test_watching_loads_neither_asyncio_nor_openssl_nor_anything_else_of_ours():
    code = (
        "import sys; from forewarn.agent import watch; changes = watch(); "
        "ours = {m for m in sys.modules if m.startswith('forewarn') and not m.startswith('forewarn.agent')}; "
        "heavy = {'asyncio', 'ssl', '_ssl', 'hashlib', '_hashlib', 'http.client', 'email', 'urllib.request'}; "
        "print(sorted(ours - {'forewarn'} | heavy & set(sys.modules)))"
    )

    ran = run_program(code, {})

    assert (ran.returncode, ran.stdout.strip()) == (0, "[]"), ran.stderr


def run_program(code: str, environment: dict[str, str], seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """A program of its own; `-S`, as what a site adds is not ours."""
    command = [sys.executable, "-S", "-c", code]
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment
    return subprocess.run(
        command, env=variables, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )


def test_the_pages_sample_is_six_lines_and_approves_its_own_event(azure: Azure):
    sample = SAMPLES[0]
    azure.show(event("OTHER", Resources=["web-1"]), event("MINE"))
    program = subprocess.Popen(
        [sys.executable, "-c", sample],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "SCHEDULEDEVENTSIP": azure.place},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until(lambda: azure.approved != [] or program.poll() is not None, "the approval")
    finally:
        program.kill()
        said, _ = program.communicate(timeout=60)

    assert len(sample.splitlines()) == 6
    assert azure.approved == ["MINE"], said
    assert "scheduled Reboot ('web-0',)" in said


def test_the_pages_other_samples_work(azure: Azure, monkeypatch: pytest.MonkeyPatch):
    azure.show(event("A"))
    done: list[str] = []
    monkeypatch.setenv("SCHEDULEDEVENTSIP", azure.place)
    asynchronous, block, plain = (definitions(sample) for sample in SAMPLES[1:])

    asyncio.run(run_for_a_while(asynchronous["main"](), lambda: azure.approved == ["A"]))
    asyncio.run(block["work_and_save"](wait_for_ever, lambda: note(done, "saved")))
    plain["work_and_save"](forever(), lambda _: None, lambda: done.append("saved too"))

    assert done == ["saved", "saved too"]
    assert azure.approved == ["A", "A", "A"]


def definitions(sample: str) -> dict[str, Any]:
    place: dict[str, Any] = {}
    exec(compile(sample, "the page", "exec"), place)
    return place


async def run_for_a_while(main: Any, is_over: Any) -> None:
    task = asyncio.create_task(main)
    await asyncio.to_thread(wait_until, is_over, "the sample to do its work")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def note(done: list[str], word: str) -> None:
    done.append(word)


def forever() -> Any:
    pause = threading.Event()
    for _ in range(1000):
        pause.wait(0.02)
        yield 0
