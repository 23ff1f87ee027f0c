"""The programs on the page of Azure's tools do what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.arm.page import at_port, blocks
from tests.arm.quick import quick
from tests.running import ROOT, RunningService
from tests.sign_in.certificates import make_certificate, trusting

_FLEET: dict[str, Any] = tomllib.loads((ROOT / "examples" / "web.toml").read_text(encoding="utf-8"))
_OVER_TLS, _OVER_HTTP = blocks("python", "The SDK for Python")


def run(program: str, service: RunningService, directory: Path, **variables: str) -> str:
    """What a program of the page prints."""
    done = subprocess.run(
        [sys.executable, "-c", at_port(program, service.service.operator[1])],
        cwd=directory,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_pages_program_for_tls_restarts_a_vm(tmp_path: Path):
    make_certificate(tmp_path / "tls")
    with quick(
        _FLEET, tls_cert=tmp_path / "tls" / "server.pem", tls_key=tmp_path / "tls" / "server.key"
    ) as service:
        service.trust = trusting(tmp_path / "tls" / "ca.pem")
        made = service.post("/v1/principals", {"name": "azure", "role": "admin"})
        variables = {f"AZURE_{name}".upper(): made[name] for name in ("client_id", "client_secret")}

        printed = run(_OVER_TLS, service, tmp_path, **variables, AZURE_TENANT_ID=made["tenant"])

        acted = [(effect.vm, effect.action) for effect in service.service.machines.ledger()]
    assert printed == "Succeeded\n"
    assert acted == [("web-1", "reboot")]


def test_the_pages_program_for_plain_http_lists_the_vms(tmp_path: Path):
    with quick(_FLEET) as service:
        printed = run(_OVER_HTTP, service, tmp_path)

    assert printed == "['web-0', 'web-1', 'web-2']\n"
