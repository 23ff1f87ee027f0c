"""The page on Azure's tools, its commands in their order: from a certificate to an eviction."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forewarn.drivers.simulated import SECONDS
from tests.arm.az import Shell
from tests.arm.page import at_port, blocks
from tests.running import ROOT, free_port

pytestmark = pytest.mark.system

_BLANKS = "AZURE_CLIENT_ID=... AZURE_CLIENT_SECRET=... AZURE_TENANT_ID=..."


def test_the_commands_of_the_page_work_as_they_stand_there(tmp_path: Path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    port, metadata = free_port(), free_port()
    shell = Shell(
        tmp_path,
        FOREWARN_OPERATOR=f"127.0.0.1:{port}",
        FOREWARN_METADATA=f"127.0.0.1:{metadata}",
        FOREWARN_SIMULATED_SECONDS=",".join(f"{action}=0" for action in SECONDS),
    )
    serve, principal, secrets, *of_az = (at_port(block, port) for block in blocks("sh"))
    init, start = serve.splitlines()

    shell.run(init)
    with shell.started(f"exec {start}") as service:
        assert service.stdout is not None
        lines = iter(service.stdout.readline, "")
        assert any("Ctrl-C stops it." in line for line in lines), "the service ended"
        made = dict(re.findall(r"^ *([a-z ]+?)  +(\S+)$", shell.run(principal), re.MULTILINE))
        names = {
            "AZURE_CLIENT_ID": "client id",
            "AZURE_CLIENT_SECRET": "client secret",
            "AZURE_TENANT_ID": "tenant",
        }
        filled = " ".join(f"{variable}={made[name]}" for variable, name in names.items())
        shell.run(secrets.replace(_BLANKS, filled))
        printed = [shell.run(block) for block in of_az]

        assert len(of_az) == 3
        assert all(f"web-{number}" in printed[1] for number in range(3))
        assert printed[1].count("VM running") == 3
        assert "cheap" in shell.run("forewarn vm list")
        assert shell.json("vm show --resource-group default --name cheap --query priority") == "Spot"
