from __future__ import annotations

from dataclasses import fields
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent import handlers
from forewarn.agent.config import read_settings
from forewarn.agent.config_keys import PEERS, PROFILE, RULE, SETTINGS, STEP, Key
from forewarn.agent.handlers.base import OPTION_TYPES
from forewarn.agent.policy import Approval, Occasion, OnFailure, Profile, Rule, Step, Together, Whose
from forewarn.agent.settings import Peers, Settings
from tests.agent.kinds import KINDS


def read(text: str, tmp_path: Path, environment: dict[str, str] | None = None, **overrides: Any) -> Settings:
    file = tmp_path / "agent.toml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o640)
    return read_settings(file, environment or {}, overrides, handlers=KINDS)


def test_without_a_file_nothing_is_run_and_nothing_is_approved(tmp_path: Path):
    settings = read_settings(None, {"FOREWARN_AGENT_CONFIG": ""}, {})

    assert settings == Settings()
    assert settings.rules == ()


def test_a_flag_wins_over_the_environment_and_the_environment_over_the_file(tmp_path: Path):
    text = 'poll_seconds = 2\ntimeout_seconds = 3\nlog_format = "plain"\n'
    environment = {"FOREWARN_AGENT_POLL_SECONDS": "4s", "FOREWARN_AGENT_TIMEOUT_SECONDS": "5"}

    settings = read(text, tmp_path, environment, poll_seconds="6")

    assert (settings.poll_seconds, settings.timeout_seconds, settings.log_format) == (6, 5, "plain")


def test_the_environment_may_name_the_file(tmp_path: Path):
    file = tmp_path / "other.toml"
    file.write_text("poll_seconds = 7\n", encoding="utf-8")

    settings = read_settings(None, {"FOREWARN_AGENT_CONFIG": str(file)}, {})

    assert (settings.poll_seconds, settings.source) == (7, str(file))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ('"5m"', 300),
        ('"90s"', 90),
        ('"1h30m"', 5400),
        ('"1 d"', 86400),
        ("2.5", 2.5),
        ('"500ms"', 0.5),
        ('"45"', 45),
    ],
)
def test_seconds_are_a_number_or_a_text_with_units(said: str, seconds: float, tmp_path: Path):
    assert read(f"poll_seconds = {said}\n", tmp_path).poll_seconds == seconds


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("DRY_RUN", "yes", "is_dry_run", True),
        ("APPROVES", "0", "approves", False),
        ("LISTEN", "off", "listen", None),
        ("LISTEN", "[::1]:9", "listen", ("::1", 9)),
        ("NAMES", "a, b", "names", ("a", "b")),
        ("ENDPOINT", "http://10.0.0.1/metadata,discover", "endpoints", ("http://10.0.0.1", "discover")),
        ("AUDIT_FILE", "/var/log/a", "audit_file", Path("/var/log/a")),
    ],
)
def test_the_environment_says_in_text_what_the_file_says_in_toml(
    variable: str, text: str, field: str, value: object, tmp_path: Path
):
    settings = read("", tmp_path, {f"FOREWARN_AGENT_{variable}": text})

    assert getattr(settings, field) == value


def test_a_rule_says_all_that_it_may(tmp_path: Path):
    settings = read(
        """
        [[rules]]
        name = "nights"
        whose = "any"
        types = ["Freeze", "Reboot"]
        sources = "Platform"
        min_duration_seconds = 1
        max_duration_seconds = "1m"
        resources = ["web-*"]
        min_resources = 1
        max_resources = 3
        description = "disk|memory"
        between = ["22:00", 06:00:00]
        profile = "log only"
        """,
        tmp_path,
    )

    rule = settings.rules[0]
    assert (rule.name, rule.whose, rule.types, rule.sources) == (
        "nights",
        Whose.ANY,
        ("Freeze", "Reboot"),
        ("Platform",),
    )
    assert (rule.min_duration_seconds, rule.max_duration_seconds) == (1, 60)
    assert rule.between == (time(22), time(6))
    assert rule.line == 2


def test_a_profile_and_its_steps_become_values(tmp_path: Path):
    settings = read(
        """
        [[rules]]
        profile = "drain"
        [profiles.drain]
        lead_seconds = "10m"
        approval = "before_deadline"
        together = "each"
        [[profiles.drain.steps]]
        name = "first"
        uses = "note"
        file = "/tmp/one"
        pause_seconds = "2m"
        ports = [80, 443]
        words = "one"
        [[profiles.drain.steps]]
        uses = "note"
        on = "detected"
        group = 2
        retries = 4
        on_failure = "continue"
        file = "/tmp/two"
        """,
        tmp_path,
    )

    profile = settings.profiles["drain"]
    assert (profile.lead_seconds, profile.approval, profile.together) == (
        600,
        Approval.BEFORE_DEADLINE,
        Together.EACH,
    )
    first, second = profile.steps
    assert first.options == {"file": "/tmp/one", "pause_seconds": 120, "ports": (80, 443), "words": ("one",)}
    assert (first.name, first.on, first.has_undo) == ("first", Occasion.PREPARE, True)
    assert (second.name, second.on, second.has_undo) == ("note", Occasion.DETECTED, False)
    assert (second.group, second.retries, second.on_failure) == (2, 4, OnFailure.CONTINUE)


def test_a_secret_comes_from_a_file_beside_or_from_the_environment_and_is_not_told(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("from the file\n", encoding="utf-8")
    secret.chmod(0o600)

    settings = read(
        """
        [[rules]]
        profile = "drain"
        [[profiles.drain.steps]]
        uses = "note"
        file = "/tmp/one"
        password = { file = "secret" }
        headers = { token = { env = "TOKEN" }, plain = "text" }
        [profiles.drain.steps.otherwise]
        password = { env = "TOKEN" }
        """,
        tmp_path,
        {"TOKEN": "from the environment"},
    )

    options = settings.profiles["drain"].steps[0].options
    assert options["password"] == "from the file"
    assert options["headers"] == {"token": "from the environment", "plain": "text"}
    assert options["otherwise"] == {"password": "from the environment"}
    assert settings.warnings == ()


def test_the_peers_are_read_with_their_secret(tmp_path: Path):
    settings = read(
        """
        [peers]
        listen = "10.0.0.4:8257"
        secret = "shared"
        expiry_seconds = 3
        [peers.members]
        web-1 = "10.0.0.5:8257"
        """,
        tmp_path,
    )

    peers = settings.peers
    assert peers is not None
    assert (peers.listen, peers.secret, peers.expiry_seconds) == (("10.0.0.4", 8257), "shared", 3)
    assert peers.members == {"web-1": "10.0.0.5:8257"}


# The tables that the file, the environment, the flags and the reference page are made from.


@pytest.mark.parametrize(
    ("keys", "kind", "others"),
    [
        (SETTINGS, Settings, {"rules", "profiles", "peers", "literals", "source", "warnings", "doubt_seconds"}),
        (RULE, Rule, {"line"}),
        (PROFILE, Profile, {"name", "steps", "superseded"}),
        (STEP, Step, {"options", "has_undo", "secrets", "missing", "is_for_all_events"}),
        (PEERS, Peers, set()),
    ],
)
def test_every_part_of_a_value_has_its_key(keys: tuple[Key, ...], kind: type, others: set[str]):
    assert {key.target for key in keys} | others == {each.name for each in fields(kind)}


@pytest.mark.parametrize("kind", handlers.KINDS)
def test_no_option_of_a_handler_is_called_like_a_key_of_a_step_and_each_is_of_a_known_type(kind: str):
    options = handlers.find(kind).options

    assert {option.name for option in options} & {key.name for key in STEP} == set()
    assert {option.type for option in options} <= set(OPTION_TYPES)
