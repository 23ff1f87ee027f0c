"""`forewarn token` and `forewarn principal`: who may sign in.

Over REST, or with `--store` in the store itself while its service is stopped: that is how the first one is made
for a service that is to be heard on the network. A secret goes to stdout, once; every sentence about it to stderr.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

import click

from forewarn.cli.client import Client, in_path
from forewarn.cli.options import DURATION, Name, service_options
from forewarn.cli.output import clock, fields, show_json, table

_ROLES = ("viewer", "approver", "operator", "admin")  # those of operator/roles.py, which would import far more

Told = dict[str, Any]


class Shelf(Protocol):
    """Where credentials of one kind are kept."""

    def create(self, name: str, role: str, expires: timedelta | None) -> Told:
        """A new one, with its secret."""

    def list(self) -> list[Told]:
        """All there are and were."""

    def revoke(self, name: str) -> Told:
        """One out of force."""


class ServiceShelf:
    """In a service."""

    def __init__(self, kind: str, client: Client) -> None:
        self._name = f"{kind}s"
        self._client = client

    def create(self, name: str, role: str, expires: timedelta | None) -> Told:
        """A new one, with its secret."""
        seconds = None if expires is None else expires.total_seconds()
        body = {"name": name, "role": role, "expires_in_seconds": seconds}
        made: Told = self._client.post(f"/v1/{self._name}", body)
        return made

    def list(self) -> list[Told]:
        """All there are and were."""
        return self._client.all(f"/v1/{self._name}", self._name)

    def revoke(self, name: str) -> Told:
        """One out of force."""
        gone: Told = self._client.delete(f"/v1/{self._name}/{in_path(name)}")
        return gone


def _shelf(kind: str, client: Client, store: str | None) -> Shelf:
    if store is None:
        return ServiceShelf(kind, client)
    from forewarn.cli.book import Book  # noqa: PLC0415 - who asks a service does not wait for all this

    return Book(kind, store)


_store_option = click.option(
    "--store", metavar="URL", help="Work in this store itself; its service has to be stopped."
)
_role_option = click.option(
    "--role", type=click.Choice(_ROLES), required=True, help="What may be done with it; each may all before it."
)
_name_option = click.option(
    "--name", type=Name(), required=True, help="Who the audit names; one at a time has it."
)
_expires_option = click.option(
    "--expires", type=DURATION, help="How long it lasts (default: until it is revoked)."
)
_name_argument = click.argument("name", type=Name())


@click.group()
def token() -> None:
    """Tokens to sign in with: create, list, revoke."""


@click.group()
def principal() -> None:
    """Service principals, who sign in as Azure's own clients do: create, list, revoke."""


@token.command("create")
@_role_option
@_name_option
@_expires_option
@_store_option
@service_options
def create_token(
    role: str, name: str, expires: timedelta | None, store: str | None, client: Client, as_json: bool
) -> None:
    """Make a token and print it, now or never.

    From the first credential on, everybody has to sign in: let it be an admin's.
    """
    made = _shelf("token", client, store).create(name, role, expires)
    if as_json:
        show_json(made)
    else:
        click.echo(made["token"])
    _explain(made, "Keep the token: it is not told again. Sign in with FOREWARN_TOKEN or --token-file.")


@principal.command("create")
@_role_option
@_name_option
@_expires_option
@_store_option
@service_options
def create_principal(
    role: str, name: str, expires: timedelta | None, store: str | None, client: Client, as_json: bool
) -> None:
    """Make a service principal and print its secret, now or never.

    From the first credential on, everybody has to sign in: let it be an admin's.
    """
    made = _shelf("principal", client, store).create(name, role, expires)
    if as_json:
        show_json(made)
    else:
        secrets = ("client_id", "client_secret", "tenant")
        fields([(each.replace("_", " "), made[each]) for each in secrets])
    _explain(made, "Keep the secret: it is not told again. az login --service-principal takes all three.")


def _explain(made: Told, keep: str) -> None:
    until = f" until {clock(made['expires_at'], made['created_at'])}" if made["expires_at"] else ""
    click.echo(f"{made['name']} may sign in as {made['role']}{until}. {keep}", err=True)


def _add_list(group: click.Group, kind: str) -> None:
    @group.command("list", help=f"All {kind}s, those out of force too.")
    @_store_option
    @service_options
    def list_all(store: str | None, client: Client, as_json: bool) -> None:
        found = _shelf(kind, client, store).list()
        if as_json:
            show_json({f"{kind}s": found})
            return
        names = ("name", "role", "state", "created_at", "created_by", "expires_at", "last_used_at", "revoked_at")
        columns = [each.removesuffix("_at").replace("_", " ") for each in names]
        rows = [[_cell(each, name) for name in names] for each in found]
        if kind == "principal":
            columns.insert(1, "client id")
            rows = [[row[0], each["client_id"], *row[1:]] for row, each in zip(rows, found, strict=True)]
        table(columns, rows, f"There are no {kind}s. Make one: forewarn {kind} create --role ROLE --name NAME")


def _cell(found: Told, name: str) -> object:
    return _minute(found[name]) if name.endswith("_at") else found[name]


def _minute(text: str | None) -> str:
    """An instant, as exactly as anybody needs it here."""
    return "" if text is None else f"{text[:10]} {text[11:16]}Z"


def _add_revoke(group: click.Group, kind: str, tell: Callable[[Told], str]) -> None:
    @group.command("revoke", help=f"Put a {kind} out of force, at once and for good.")
    @_name_argument
    @_store_option
    @service_options
    def revoke(name: str, store: str | None, client: Client, as_json: bool) -> None:
        gone = _shelf(kind, client, store).revoke(name)
        if as_json:
            show_json(gone)
        else:
            click.echo(tell(gone))


_add_list(token, "token")
_add_list(principal, "principal")
_add_revoke(token, "token", lambda gone: f"The token {gone['name']} is revoked.")
_add_revoke(
    principal,
    "principal",
    lambda gone: f"The principal {gone['name']} is revoked, and all that it signed in with.",
)
