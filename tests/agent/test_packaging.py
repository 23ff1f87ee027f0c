"""The unit for systemd and the file with comments: what is handed out works."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from forewarn.agent.config import read_settings
from forewarn.agent.settings import Settings
from tests.waiting import ROOT

UNIT = ROOT / "packaging" / "forewarn-agent.service"


@pytest.fixture(scope="module")
def unit() -> dict[str, dict[str, list[str]]]:
    """The unit's sections, their keys, and all that each key is set to."""
    sections: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    section = ""
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = header[1]
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals, line
            assert re.fullmatch(r"[A-Z]\w+", key), line
            sections[section][key].append(value)
    return sections


def test_the_unit_is_watched_and_always_started_again(unit: dict[str, dict[str, list[str]]]):
    service = unit["Service"]

    assert service["Type"] == ["notify"]
    assert int(service["WatchdogSec"][0]) > 0
    assert service["Restart"] == ["always"]
    assert unit["Unit"]["StartLimitIntervalSec"] == ["0"]
    assert unit["Install"]["WantedBy"] == ["multi-user.target"]


def test_handlers_outlive_the_agent_that_began_them(unit: dict[str, dict[str, list[str]]]):
    assert unit["Service"]["KillMode"] == ["process"]
    # A directory of its own for /tmp would go away under them.
    assert "PrivateTmp" not in unit["Service"]


def test_the_unit_keeps_its_journal_where_the_agent_looks_for_it(unit: dict[str, dict[str, list[str]]]):
    service = unit["Service"]
    directory = f"/var/lib/{service['StateDirectory'][0]}"

    assert Path(directory) == Settings().state_dir
    assert f"FOREWARN_AGENT_STATE_DIR={directory}" in service["Environment"]
    assert service["StateDirectoryMode"] == ["0700"]


def test_the_unit_runs_the_one_file_with_python_alone(unit: dict[str, dict[str, list[str]]]):
    program = unit["Service"]["ExecStart"][0].split()

    assert program[0].startswith("/")
    assert program[1:3] == ["-I", "-S"]
    assert program[3].endswith("/forewarn-agent.pyz")
    assert program[4:] == ["run"]
    assert program[3] in UNIT.read_text(encoding="utf-8").partition("[Unit]")[0], (
        "how to install it there is not said"
    )


def test_the_unit_takes_away_what_no_handler_needs(unit: dict[str, dict[str, list[str]]]):
    service = unit["Service"]

    for key in ("NoNewPrivileges", "ProtectKernelModules", "ProtectKernelTunables", "RestrictSUIDSGID"):
        assert service[key] == ["yes"], key
    assert service["ProtectSystem"] == ["full"]
    assert "AF_UNIX" in service["RestrictAddressFamilies"][0].split()
    assert "CAP_SYS_ADMIN" not in service["CapabilityBoundingSet"][0]


def test_the_example_is_fine_and_nothing_in_it_is_doubtful(tmp_path: Path):
    file = shutil.copy(ROOT / "examples" / "agent.toml", tmp_path / "agent.toml")

    settings = read_settings(Path(file), {}, {})

    assert settings.warnings == ()
    assert {rule.profile for rule in settings.rules} == set(settings.profiles)


def test_what_the_example_leaves_commented_out_is_fine_too(tmp_path: Path):
    text = (ROOT / "examples" / "agent.toml").read_text(encoding="utf-8")
    before, mark, peers = text.partition("# [peers]")
    (tmp_path / "peers.secret").write_text("shared", encoding="utf-8")
    (tmp_path / "peers.secret").chmod(0o640)
    peers = re.sub(r"^# ?", "", mark + peers, flags=re.MULTILINE).replace("/etc/forewarn/", "")
    (tmp_path / "agent.toml").write_text(before + peers, encoding="utf-8")

    settings = read_settings(tmp_path / "agent.toml", {}, {})

    assert settings.peers is not None
    assert set(settings.peers.members) == {"web-0", "web-2"}


def test_the_example_has_no_secret_in_it():
    text = (ROOT / "examples" / "agent.toml").read_text(encoding="utf-8")
    secrets = re.findall(r"^#?\s*(?:secret|password|token|url)\s*=\s*(.+)$", text, re.MULTILINE)

    assert secrets
    assert all(re.match(r"\{ (?:file|env) = ", each) for each in secrets), secrets


def test_the_documentation_that_the_unit_names_is_among_what_is_installed(unit: dict[str, dict[str, list[str]]]):
    installed = re.findall(r"^#   install .* (\S+) (\S+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)

    (named,) = unit["Unit"]["Documentation"]

    assert named.removeprefix("file://") in [target for _, target in installed]
    assert all((ROOT / source).exists() for source, _ in installed if not source.startswith("dist/"))
