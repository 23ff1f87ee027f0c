"""`forewarn tls`: a private authority and a certificate for the service, because the Azure CLI insists on TLS."""

from __future__ import annotations

import importlib
import os
import re
import ssl
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import click

from forewarn.cli.output import fields, show_json
from forewarn.clock import SystemClock
from forewarn.errors import ConfigError
from forewarn.wire.times import iso

_ALWAYS = ("localhost", "127.0.0.1", "::1")
_NAME = re.compile(
    r"(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
)
_LONGEST_NAME = 253
_SECRET = 0o600
_OPEN = 0o644
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


@click.group()
def tls() -> None:
    """A private authority and a certificate for the service."""


class ServerName(click.ParamType):  # type: ignore[type-arg] # generic in some versions of click only
    """A host name or an address that a certificate can name."""

    name = "name"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name in the one way that a certificate has it."""
        text = str(value)
        try:
            return str(ip_address(text))
        except ValueError:
            if _NAME.fullmatch(text) and len(text) <= _LONGEST_NAME:
                return text.lower()
            self.fail(f"{text!r} is neither a host name (in ASCII) nor an address", param, ctx)


@tls.command("init")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("tls"),
    show_default=True,
    help="Where the files go; it is made if need be.",
)
@click.option(
    "--name",
    "names",
    type=ServerName(),
    multiple=True,
    help="Host name or address of the service, beside localhost, 127.0.0.1 and ::1; may repeat.",
)
@click.option("--days", type=click.IntRange(1, 3650), default=825, show_default=True, help="How long they last.")
@click.option("--force", is_flag=True, help="Put new files in the place of those that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def init(directory: Path, names: tuple[str, ...], days: int, force: bool, as_json: bool) -> None:
    """Make an authority of your own and a certificate for the service that it vouches for."""
    from forewarn.cli import authority  # noqa: PLC0415 - it brings cryptography along

    files = {name: directory / name for name in ("ca.pem", "ca.key", "server.pem", "server.key", "bundle.pem")}
    there = [str(file) for file in files.values() if file.exists()]
    if there and not force:
        raise ConfigError(
            f"There is already {', '.join(there)}.", "Name another --dir, or replace them with --force."
        )
    now, lasts = SystemClock().now().replace(microsecond=0), timedelta(days=days)
    all_names = list(dict.fromkeys((*_ALWAYS, *names)))
    root, leaf = authority.make(all_names, now, lasts)
    bundle, others = _bundle(root.certificate)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(files["ca.key"], root.key, _SECRET)
        _write(files["ca.pem"], root.certificate, _OPEN)
        _write(files["server.key"], leaf.key, _SECRET)
        _write(files["server.pem"], leaf.certificate, _OPEN)
        _write(files["bundle.pem"], bundle, _OPEN)
    except OSError as problem:
        raise ConfigError(
            f"{problem.filename} cannot be written: {problem.strerror}.", "Name another --dir."
        ) from None
    if as_json:
        told = {name.replace(".", "_"): str(file) for name, file in files.items()}
        show_json({**told, "names": all_names, "expires_at": iso(now + lasts), "bundle_with": others})
    else:
        _tell(files, all_names, f"{now + lasts:%Y-%m-%d}", others)


def _write(file: Path, content: bytes, mode: int) -> None:
    """The file, whole: with its mode before it has its content, and in its place only then."""
    unfinished = file.with_name(f".{file.name}.new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
        opened.write(content)
    unfinished.chmod(mode)
    unfinished.replace(file)


def _bundle(certificate: bytes) -> tuple[bytes, str | None]:
    """Our authority and all that the system trusts, and where those were found."""
    for file in _bundles():
        if file.is_file():
            return certificate + file.read_bytes(), str(file)
    return certificate, None


def _bundles() -> Iterator[Path]:
    paths = ssl.get_default_verify_paths()
    yield from map(Path, filter(None, (paths.cafile, *_SYSTEM_BUNDLES)))
    try:
        yield Path(importlib.import_module("certifi").where())  # where a system has none, Python often has one
    except ImportError:
        return


def _tell(files: dict[str, Path], names: list[str], until: str, others: str | None) -> None:
    click.echo(f"A certificate for {', '.join(names)}, good until {until}")
    fields(
        [
            ("server.pem", f"{files['server.pem']}, with its key in {files['server.key']}"),
            (
                "ca.pem",
                f"{files['ca.pem']}: the authority that vouches for it; keep {files['ca.key']} to yourself",
            ),
            ("bundle.pem", f"{files['bundle.pem']}: it" + (f" and all of {others}" if others else " alone")),
        ]
    )
    click.echo(f"serve:     forewarn serve --tls-cert {files['server.pem']} --tls-key {files['server.key']}")
    click.echo(
        f"call it:   FOREWARN_URL=https://localhost:8255 FOREWARN_CA_FILE={files['ca.pem']} forewarn vm list"
    )
    click.echo(f"with az:   REQUESTS_CA_BUNDLE={files['bundle.pem'].absolute()} az cloud register ...")
