"""An azure-mgmt-compute three years older drives the service just as well; `make test-all` installs it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.arm.quick import let_maintenance_wait, quick
from tests.arm.sdk import EXPECTED, outcomes, start
from tests.running import ROOT
from tests.sign_in.certificates import make_certificate, trusting

pytestmark = pytest.mark.system

_PYTHON = str(ROOT / ".venv-azure-old" / "bin" / "python")


def test_it_is_really_older():
    asked = [_PYTHON, "-c", "import azure.mgmt.compute as sdk; print(sdk.__version__)"]

    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout

    assert version == "30.6.0\n"


@pytest.mark.parametrize("how", ["policy", "per call"])
def test_every_call_is_answered_over_http(how: str):
    with quick() as service:
        let_maintenance_wait(service)

        with start(service, how, _PYTHON) as sdk:
            found = outcomes(sdk)

    assert found == EXPECTED


def test_every_call_is_answered_over_tls(tmp_path: Path):
    ca = make_certificate(tmp_path)
    with quick(tls_cert=tmp_path / "server.pem", tls_key=tmp_path / "server.key") as service:
        service.trust = trusting(ca)
        let_maintenance_wait(service)

        with start(service, "tls", _PYTHON, ca=ca) as sdk:
            found = outcomes(sdk)

    assert found == EXPECTED
