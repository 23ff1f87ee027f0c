"""What keeps `forewarn serve` from starting: a sentence, a hint and exit 1, never a traceback."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forewarn.store.sql import SqlStore
from tests.cli.command import Outcome, forewarn, shown
from tests.cli.serving import serve_ends, serving
from tests.cli.test_fleet import FLEET
from tests.fleets import SMALL
from tests.running import running
from tests.sign_in.certificates import lock_key, make_certificate


def refusal(error: str, hint: str = "", code: int = 1) -> Outcome:
    return Outcome(code, "", shown(f"error: {error}", *([f"hint:  {hint}"] if hint else [])))


@pytest.fixture
def taken() -> Iterator[str]:
    """An address where another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


# The store.


def damage_page_of(file: Path, table: str) -> None:
    connection = sqlite3.connect(file)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    content = bytearray(file.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    file.write_bytes(content)


def test_a_store_in_a_directory_that_is_not_there_is_refused(tmp_path: Path):
    assert serve_ends("--store", f"sqlite:///{tmp_path}/missing/x.db") == refusal(
        f"The store sqlite:///{tmp_path}/missing/x.db cannot be opened: there is no directory {tmp_path}/missing.",
        f"mkdir -p {tmp_path}/missing",
    )


@pytest.mark.parametrize(
    "address", ["forewarn.db", "mysql://localhost/forewarn"], ids=["a path", "another database"]
)
def test_a_store_that_forewarn_does_not_know_is_refused(address: str):
    outcome = serve_ends("--store", address)

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: '{address}' is no store ")
    assert outcome.err.endswith(
        "hint:  Use sqlite:///PATH, sqlite:// (in memory) or postgresql://USER@HOST/DATABASE.\n"
    )


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, " * 100)

    outcome = serve_ends("--store", f"sqlite:///{file}")

    assert outcome == refusal(
        f"The store sqlite:///{file} cannot be opened: file is not a database.",
        "Name another file, or move this one away.",
    )
    assert file.read_text() == "not a database, " * 100


def test_a_store_that_is_damaged_is_refused(tmp_path: Path):
    file = tmp_path / "store.db"
    SqlStore(f"sqlite:///{file}").close()
    damage_page_of(file, "alembic_version")

    assert serve_ends("--store", f"sqlite:///{file}") == refusal(
        f"The store sqlite:///{file} cannot be opened: database disk image is malformed.",
        "Name another store with --store.",
    )


def run_sql(file: Path, statement: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()


def break_schema(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content.replace(b"CREATE TABLE hosts", b"CREATE \xc7ABLE hosts"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: run_sql(file, "UPDATE vms SET state = 'runn%ng'"),
        lambda file: run_sql(file, "UPDATE hosts SET tags = '{'"),
        lambda file: run_sql(file, "DELETE FROM scopes"),
        lambda file: run_sql(file, "DELETE FROM marks"),
        lambda file: run_sql(file, "UPDATE marks SET clock_epoch = 'x', clock_now = 'x'"),
        lambda file: run_sql(file, "DROP TABLE webhooks"),
        lambda file: damage_page_of(file, "vms"),
        break_schema,
    ],
    ids=["a word", "JSON", "a missing row", "no mark", "a number", "a missing table", "a page", "the schema"],
)
@pytest.mark.parametrize("command", ["serve", "token"])
def test_a_damaged_store_ends_the_command_with_a_sentence(
    tmp_path: Path, damage: Callable[[Path], None], command: str
):
    file = tmp_path / "store.db"
    with running(SMALL, store=f"sqlite:///{file}"):
        pass
    damage(file)

    if command == "serve":
        outcome = serve_ends("--store", f"sqlite:///{file}", "--clock", "virtual")
        assert outcome.code == 1
    else:
        outcome = forewarn("token", "list", "--store", f"sqlite:///{file}")
        assert outcome.code in {0, 1}  # what it does not read may be damaged
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("error: The store ") or not outcome.code


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path):
    file = tmp_path / "store.db"
    SqlStore(f"sqlite:///{file}").close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()

    outcome = serve_ends("--store", f"sqlite:///{file}")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(
        f"error: The store sqlite:///{file} was written by a newer forewarn (schema 9999; this one knows up to "
    )
    assert outcome.err.endswith("hint:  Install that version or a newer one; nothing was changed.\n")


def test_a_store_that_another_service_has_open_is_refused(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with serving(tmp_path, "--store", store) as served:
        outcome = serve_ends("--store", store)

        assert served.cli.says("vm", "list")
    assert outcome == refusal(
        f"The store {store} is in use by another forewarn service.",
        "Stop that one first, or name another store with --store.",
    )


def test_a_store_kept_by_the_other_clock_is_refused(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with running(store=store, clock="virtual"):
        pass

    assert serve_ends("--store", store) == refusal(
        f"The store {store} was kept by a virtual clock.",
        "Serve with --clock virtual, or name another store with --store.",
    )


def test_a_file_of_machines_that_cannot_be_opened_is_refused(tmp_path: Path):
    assert serve_ends("--machines", str(tmp_path)) == refusal(
        f"The file of machines {tmp_path} cannot be opened: unable to open database file.",
        "Name another with --machines.",
    )


# Addresses.


def test_an_address_where_another_program_listens_is_refused(taken: str):
    assert serve_ends("--metadata", taken) == refusal(
        f"Cannot bind guest listener on {taken}: Address already in use.",
        "Choose another address with --metadata, or stop the program that listens there: ss -ltnp",
    )
    assert serve_ends("--operator", taken) == refusal(
        f"Cannot bind operator listener on {taken}: Address already in use.",
        "Choose another address with --operator, or stop the program that listens there: ss -ltnp",
    )


@pytest.mark.parametrize("address", ["0.0.0.0:8255", "[::]:8255", "192.0.2.1:8255", "example.com:8255"])
def test_operators_are_not_heard_beyond_this_machine_without_signing_in(address: str, tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    sentence = f"Operators would be heard on {address} without having to sign in."

    assert serve_ends("--operator", address, "--store", store) == refusal(
        sentence, f"First: forewarn token create --store {store} --role admin --name NAME"
    )
    assert serve_ends("--operator", address, "--store", "sqlite://") == refusal(
        sentence, "Name a store that is kept, with --store, and make a token in it; or use 127.0.0.1:PORT."
    )


@pytest.mark.parametrize(
    ("tls", "error"),
    [
        (("--tls-cert", "server.pem"), "--tls-cert is given, and --tls-key is not."),
        (("--tls-key", "server.key"), "--tls-key is given, and --tls-cert is not."),
        (
            ("--tls-cert", "gone.pem", "--tls-key", "server.key"),
            "{}/gone.pem cannot be read: No such file or directory.",
        ),
        (
            ("--tls-cert", "server.pem", "--tls-key", "ca.key"),
            "The key {}/ca.key is not that of the certificate {}/server.pem.",
        ),
        (
            ("--tls-cert", "notes.txt", "--tls-key", "server.key"),
            "{}/notes.txt and {}/server.key are no certificate and key in PEM.",
        ),
        (
            ("--tls-cert", "server.pem", "--tls-key", "locked.key"),
            "The key {}/locked.key asks for a password, and nobody is here",
        ),
    ],
    ids=["no key", "no certificate", "no file", "another's key", "no PEM", "a password"],
)
def test_a_certificate_or_key_that_cannot_be_used_is_refused(tls: tuple[str, ...], error: str, tmp_path: Path):
    make_certificate(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    lock_key(tmp_path / "server.key", tmp_path / "locked.key")

    outcome = serve_ends(*(each if each.startswith("--") else f"{tmp_path}/{each}" for each in tls))

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {error.replace('{}', str(tmp_path))}")
    assert outcome.err.endswith("forewarn tls init makes both, and an authority that vouches for them.\n")


def test_a_malformed_address_is_refused_with_an_example():
    assert serve_ends("--metadata", "8254") == refusal(
        "--metadata: '8254' is no address; write it like 127.0.0.1:8254.",
        "See forewarn serve --help for --metadata.",
        code=2,
    )


# The fleet and the settings.


def test_a_guest_that_is_no_vm_is_refused_with_some_that_are(tmp_path: Path):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(FLEET)

    assert serve_ends("--guest", "nobody") == refusal(
        "--guest names nobody, and there is no such VM.", "Give a fleet with --fleet."
    )
    assert serve_ends("--guest", "nobody", "--fleet", str(fleet)) == refusal(
        "--guest names nobody, and there is no such VM.", "The fleet has solo, web-0, for example."
    )


def test_a_broken_fleet_file_is_refused_with_its_line_and_no_store_is_made(tmp_path: Path):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text('[[vms]]\nname = "a"\nhost = "nowhere"\n')

    outcome = serve_ends("--fleet", str(fleet), "--store", f"sqlite:///{tmp_path}/store.db")

    assert outcome == refusal(f'{fleet}:3: There is no host nowhere. Add [[hosts]] with name = "nowhere".')
    assert list(tmp_path.iterdir()) == [fleet]


def test_an_unknown_setting_in_the_file_is_refused_with_its_line(tmp_path: Path):
    config = tmp_path / "forewarn.toml"
    config.write_text("# ours\nlaed = 9\n")

    assert serve_ends("--config", str(config)) == refusal(
        f"{config}:2: there is no setting laed.", "Did you mean lead?"
    )


def test_a_wrong_value_in_the_environment_is_refused_with_its_variable():
    assert serve_ends(FOREWARN_LEAD="1") == refusal(
        "FOREWARN_LEAD: 1 is too small; it can be 2 or more.", "See forewarn serve --help for --lead."
    )
