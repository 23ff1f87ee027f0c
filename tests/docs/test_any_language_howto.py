"""The page on clients in any language: it shows the scripts as they are, and they do what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forewarn.testing import Service
from tests.running import ROOT, free_port, wait_until

PAGE = (ROOT / "docs/howto/test-a-client-in-any-language.md").read_text()
SANDBOX = re.compile(r"^forewarn sandbox .*$", re.MULTILINE)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The examples, with ports that nobody else uses."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    ports = {"8254": str(free_port()), "8255": str(free_port())}
    for script in (tmp_path / "examples").glob("*.sh"):
        script.write_text(re.sub(r"\b825[45]\b", lambda found: ports[found[0]], script.read_text()))
    served = tmp_path / "examples/test-client.sh"
    listeners = f"--metadata 127.0.0.1:{ports['8254']} --operator 127.0.0.1:{ports['8255']}"
    served.write_text(served.read_text().replace("forewarn serve", f"forewarn serve {listeners}"))
    return tmp_path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    bare = {"LC_ALL": "C.UTF-8", "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", ["test-client.sh", "reboot.sh"])
def test_the_page_shows_the_script_as_it_is(name: str):
    script = (ROOT / "examples" / name).read_text()

    assert f"```sh\n{script}```" in PAGE


def test_the_scripts_put_a_client_through_a_reboot(copy: Path):
    ran = run(copy, "sh", "examples/test-client.sh")

    assert ran.returncode == 0, ran.stderr
    approved = re.findall(r"^approved (\S+)$", ran.stdout, re.MULTILINE)
    assert len(approved) == 1
    assert approved[0] in (copy / "history.json").read_text()
    assert "web-0 does well: " in ran.stdout


def test_the_client_leaves_the_events_of_others_to_them(copy: Path):
    with Service() as service:
        place = {"availability_set": "web", "update_domain": 0}
        web, other = (service.vm(name, **place) for name in ("web_0", "web_00"))
        others, own = service.restart(other), service.restart(web)
        client = subprocess.Popen(
            ["sh", "examples/client.sh"],
            cwd=copy,
            env={**os.environ, "ENDPOINT": web.url},
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: own.approved_by is not None, "the client to approve what names its VM")
        finally:
            client.terminate()
            client.wait()

        assert (own.approved_by, others.approved_by) == ("web_0", None)


def test_a_client_that_approves_nothing_fails_the_test(copy: Path):
    client = copy / "examples/client.sh"
    client.write_text(client.read_text().replace('"Scheduled"', '"Nothing"'))
    reboot = copy / "examples/reboot.sh"
    reboot.write_text(reboot.read_text().replace("timeout 60", "timeout 4"))

    ran = run(copy, "sh", "examples/test-client.sh")

    assert ran.returncode == 124, ran.stderr


def test_the_workflow_runs_what_the_page_shows():
    workflow = (ROOT / "examples/workflow.yml").read_text()
    steps = re.sub(r"\\\n\s*", "", workflow)

    (sandbox,) = SANDBOX.findall(PAGE)
    assert f"{sandbox}\n" in steps
    assert "run: sh examples/test-client.sh\n" in steps
    for script in re.findall(r"examples/[\w-]+\.sh", workflow):
        assert (ROOT / script).exists()


@pytest.mark.system
def test_the_line_with_the_sandbox_puts_a_client_with_the_address_built_in_through_a_reboot(tmp_path: Path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (line,) = SANDBOX.findall(PAGE)

    ran = run(tmp_path, "sh", "-c", line)

    assert ran.returncode == 0, ran.stderr
    assert len(re.findall(r"^approved ", ran.stdout, re.MULTILINE)) == 1
    assert '"outcome":"Completed"' in (tmp_path / "history.json").read_text()
