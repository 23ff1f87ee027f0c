"""Secrets are told once, to whom they are for: not in logs, not in errors, not in `ps`. And who needs none waits
for no library that signs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click

from tests.cli.command import Outcome, forewarn
from tests.cli.serving import serving
from tests.running import call
from tests.sign_in.certificates import make_certificate, trusting
from tests.sign_in.people import TENANT, bearer, new_address
from tools.pages.cli import all_commands

_IMPORTED = "print(sorted(name for name in ('jwt', 'cryptography') if name in sys.modules))"
_START_A_SERVICE = f"""
import asyncio, sys
from forewarn.config import Settings
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.register import CredentialWish
from forewarn.service import Service
from forewarn.store.credentials import CredentialKind

async def run():
    somewhere = (("127.0.0.1", 0),)
    service = Service(Settings(metadata=somewhere, operator=somewhere[0], store="sqlite://"))
    if len(sys.argv) > 1:
        token = service.register.create(CredentialWish(CredentialKind.TOKEN, "a", Role.ADMIN), "test").secret
        client = service.register.create(CredentialWish(CredentialKind.PRINCIPAL, "b", Role.ADMIN), "test")
        print(service.sign_in.recognise([f"Bearer {{token}}"], "http://x", "here").name)
    await service.start()
    await service.stop()

asyncio.run(run())
{_IMPORTED}
"""


def python(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_no_secret_is_in_a_log_or_in_a_sentence(tmp_path: Path):
    authority = make_certificate(tmp_path / "tls")
    tls = ("--tls-cert", "tls/server.pem", "--tls-key", "tls/server.key")
    secrets: set[str] = set()
    said: list[Outcome] = []
    with serving(tmp_path, "--store", "sqlite:///store.db", *tls) as served:
        port = int(re.findall(r"operators  https://127\.0\.0\.1:(\d+)\n", served.out)[0])
        where = {"FOREWARN_URL": f"https://localhost:{port}", "FOREWARN_CA_FILE": str(authority)}
        root = forewarn("token", "create", "--role", "admin", "--name", "root", **where)
        who = {**where, "FOREWARN_TOKEN": root.out.strip()}
        made = json.loads(forewarn("principal", "create", "--role", "viewer", "--name", "az", "--json", **who).out)
        secrets |= {who["FOREWARN_TOKEN"], made["client_secret"]}
        form = f"grant_type=client_credentials&client_id={made['client_id']}&client_secret={made['client_secret']}"
        path, kind = f"/{TENANT}/oauth2/v2.0/token", {"Content-Type": "application/x-www-form-urlencoded"}

        def post(body: str, headers: dict[str, str] = kind) -> str:
            trust = trusting(authority)
            return call("127.0.0.1", port, "POST", path, body.encode(), headers, trust=trust).body.decode()

        given = json.loads(post(f"{form}&scope=https://localhost:{port}/.default"))["access_token"]
        secrets.add(given)
        errors = [
            post(body) for body in (form, f"{form}x&scope=https://a/.default", f"{form}&{form}", f"{form}&x")
        ]
        errors.append(post(f"{form}&scope=https://a/.default", {"Content-Type": "text/plain"}))
        said += [root, forewarn("vm", "restart", "nobody", **{**where, "FOREWARN_TOKEN": given})]
        for n in range(15):
            wrong = f"fw_wrong{n}"
            secrets.add(wrong)
            said.append(forewarn("vm", "list", **{**where, "FOREWARN_TOKEN": wrong}))
        said.append(forewarn("token", "revoke", "root", **who))
        said.append(forewarn("vm", "list", **who))
        told = call("127.0.0.1", port, "GET", "/nowhere", None, bearer(given), new_address(), trusting(authority))

    assert "sign-in slowed down" in served.err  # so there is a log
    written = [served.out, served.err, *errors, *(each.err for each in said), told.body.decode()]
    assert [secret for secret in secrets for text in written if secret in text] == []
    assert {each.code for each in said} == {0, 1}


def test_no_command_takes_a_secret_as_an_argument_which_everybody_could_see():
    options = {
        option
        for command, _ in all_commands()
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }

    assert {each for each in options if re.search("token|secret|password", each)} == {
        "--token-file",
        "--secret-file",
    }


def test_a_command_waits_for_no_library_that_signs():
    program = (
        f"import sys, forewarn.cli.main, forewarn.cli.vm, forewarn.cli.credentials, forewarn.cli.tls\n{_IMPORTED}"
    )

    assert python(program) == "[]"


def test_a_service_waits_for_no_library_that_signs_until_somebody_comes_with_what_was_signed():
    assert python(_START_A_SERVICE) == "[]"
    assert python(_START_A_SERVICE, "with a token") == "a\n[]"
    assert python(f"import sys, jwt\n{_IMPORTED}") == "['cryptography', 'jwt']"
