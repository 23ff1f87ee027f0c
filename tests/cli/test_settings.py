"""Settings: flags win, then the environment, then the file, then the defaults."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from forewarn.config import SETTINGS, Settings, load_settings
from forewarn.core.terms import Action, Kind
from forewarn.errors import ConfigError


class Sample(NamedTuple):
    """One setting as it is written in three places, each time another value, and what each means."""

    in_file: str
    in_environment: str
    as_flag: Any
    meant: tuple[Any, Any, Any]


UUIDS = (
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
    "ABCDEF00-2222-4222-8222-222222222222",
)
SAMPLES = {
    "metadata": Sample(
        '["10.0.0.1:80", "[::1]:81"]',
        "10.0.0.2:80, :82",
        ("10.0.0.3:80", "10.0.0.4:80"),
        (
            (("10.0.0.1", 80), ("::1", 81)),
            (("10.0.0.2", 80), ("127.0.0.1", 82)),
            (("10.0.0.3", 80), ("10.0.0.4", 80)),
        ),
    ),
    "metadata_host_names": Sample(
        '["a.internal", "b"]', "c, d", ("e", "f"), (("a.internal", "b"), ("c", "d"), ("e", "f"))
    ),
    "operator": Sample(
        '"127.0.0.1:1"', "127.0.0.1:2", "[::1]:3", (("127.0.0.1", 1), ("127.0.0.1", 2), ("::1", 3))
    ),
    "operator_connections": Sample("10", "20", "30", (10, 20, 30)),
    "tls_cert": Sample('"a.pem"', "b.pem", "c.pem", (Path("a.pem"), Path("b.pem"), Path("c.pem"))),
    "tls_key": Sample('"a.key"', "b.key", "c.key", (Path("a.key"), Path("b.key"), Path("c.key"))),
    "store": Sample('"sqlite:///a"', "sqlite:///b", "sqlite:///c", ("sqlite:///a", "sqlite:///b", "sqlite:///c")),
    "fleet": Sample('"a.toml"', "b.toml", "c.toml", (Path("a.toml"), Path("b.toml"), Path("c.toml"))),
    "clock": Sample('"virtual"', "system", "virtual", ("virtual", "system", "virtual")),
    "clock_start": Sample(
        "2026-03-02T12:00:00Z",
        "2026-03-02T13:00:00+01:00",
        "2026-03-03",
        (
            datetime(2026, 3, 2, 12, tzinfo=UTC),
            datetime(2026, 3, 2, 12, tzinfo=UTC),
            datetime(2026, 3, 3, tzinfo=UTC),
        ),
    ),
    "rate_limit": Sample("0.5", "2", "0", (0.5, 2.0, 0.0)),
    "first_call_delay": Sample("1", "2.5", "0", (1.0, 2.5, 0.0)),
    "user_operation_limit": Sample("1", "2", "0", (1, 2, 0)),
    "history_days": Sample("30", "90", "0", (30, 90, 0)),
    "guest": Sample('"a"', "b", "c", ("a", "b", "c")),
    "demo": Sample("true", "no", as_flag=True, meant=(True, False, True)),
    "watch_guests": Sample("true", "no", as_flag=True, meant=(True, False, True)),
    "lead": Sample("2", "3", "4.5", (2.0, 3.0, 4.5)),
    "reset_incarnation": Sample("true", "0", as_flag=True, meant=(True, False, True)),
    "failed_host_kind": Sample('"Reboot"', "Redeploy", "Reboot", (Kind.REBOOT, Kind.REDEPLOY, Kind.REBOOT)),
    "sick_host_percent": Sample("0", "12.5", "100", (0.0, 12.5, 100.0)),
    "postpone_limit": Sample("0", "3600", "1e6", (0.0, 3600.0, 1e6)),
    "action_limit": Sample("1", "60", "1e3", (1.0, 60.0, 1000.0)),
    "health_command": Sample(
        '{web = ["/bin/check", "web one"]}',
        "web=/bin/check 'web one'",
        ("web=/bin/a", "db=/bin/b x"),
        (
            {"web": ("/bin/check", "web one")},
            {"web": ("/bin/check", "web one")},
            {"web": ("/bin/a",), "db": ("/bin/b", "x")},
        ),
    ),
    "webhook_tries": Sample("1", "2", "3", (1, 2, 3)),
    "webhook_timeout": Sample("0.5", "2", "3e1", (0.5, 2.0, 30.0)),
    "machines": Sample('"a.db"', "b.db", "c.db", (Path("a.db"), Path("b.db"), Path("c.db"))),
    "simulated_seconds": Sample(
        "{ reboot = 1, freeze = 0.5 }",
        "reboot=2, delete=3",
        ("reboot=4", "stop=5"),
        (
            {Action.REBOOT: 1.0, Action.FREEZE: 0.5},
            {Action.REBOOT: 2.0, Action.DELETE: 3.0},
            {Action.REBOOT: 4.0, Action.STOP: 5.0},
        ),
    ),
    "location": Sample('"a"', "b", "c", ("a", "b", "c")),
    "subscription": Sample(f'"{UUIDS[0]}"', UUIDS[1], UUIDS[2], UUIDS),
    "tenant": Sample(f'"{UUIDS[0]}"', UUIDS[1], UUIDS[2], UUIDS),
    "log_format": Sample('"plain"', "json", "auto", ("plain", "json", "auto")),
}

# A value that cannot be used, as it is written in TOML and as text, and what is said about it.
WRONG = [
    ("metadata", '"8254"', "8254", "'8254' is no address; write it like 127.0.0.1:8254"),
    ("metadata", "8254", None, "8254 is neither text nor a list of texts"),
    ("metadata", "[8254]", None, "8254 is no text; write it in quotes"),
    ("metadata_host_names", '"imds:80"', "imds:80", "'imds:80' is no host name; write it like"),
    ("operator", '"127.0.0.1:65536"', "127.0.0.1:65536", "'127.0.0.1:65536' is no address; write it like"),
    ("operator", "8255", None, "8255 is no text; write it in quotes"),
    ("tls_cert", "1", None, "1 is no text; write it in quotes"),
    ("tls_key", "false", None, "False is no text; write it in quotes"),
    ("store", "1", None, "1 is no text; write it in quotes"),
    ("fleet", "true", None, "True is no text; write it in quotes"),
    ("clock", '"wall"', "wall", "'wall' is no clock; it can be system or virtual"),
    ("clock", '["virtual"]', None, "['virtual'] is no clock; it can be system or virtual"),
    ("clock_start", '"noon"', "noon", "'noon' is no instant; write it like 2026-03-02T12:00:00Z"),
    ("clock_start", "12", None, "12 is no text; write it in quotes"),
    ("rate_limit", "-1", "-1", "-1 is too small; it can be 0 or more"),
    ("rate_limit", "nan", "nan", "nan is too small; it can be 0 or more"),
    ("rate_limit", '"fast"', "fast", "'fast' is no number"),
    ("rate_limit", "true", None, "True is no number"),
    ("first_call_delay", "[]", "", " is no number"),
    ("operator_connections", "0", "0", "0 is too small; it can be 1 or more"),
    ("operator_connections", "1.5", "1.5", "1.5 is no whole number"),
    ("user_operation_limit", "1.5", "1.5", "1.5 is no whole number"),
    ("user_operation_limit", '"many"', "many", "'many' is no number"),
    ("history_days", "0.5", "0.5", "0.5 is no whole number"),
    ("history_days", "-1", "-1", "-1 is too small; it can be 0 or more"),
    ("history_days", "36501", "36501", "36501 is too large; it can be 36500 at most, or 0 for ever"),
    ("guest", "0", None, "0 is no text; write it in quotes"),
    ("demo", '"perhaps"', "perhaps", "'perhaps' is neither true nor false"),
    ("demo", "1", None, "1 is no text; write it in quotes"),
    ("lead", "1.9", "1.9", "1.9 is too small; it can be 2 or more"),
    ("lead", "inf", "inf", "inf is too large; it can be 1000000000 at most"),
    (
        "failed_host_kind",
        '"Freeze"',
        "Freeze",
        "'Freeze' is not told of a failed host; it can be Redeploy or Reboot",
    ),
    ("subscription", '"mine"', "mine", "'mine' is no UUID; write it like 00000000-0000-4000-8000-000000000001"),
    ("subscription", "1", None, "1 is no text; write it in quotes"),
    (
        "tenant",
        f'"{UUIDS[0]}0"',
        f"{UUIDS[0]}0",
        " is no UUID; write it like 00000000-0000-4000-8000-000000000001",
    ),
    ("sick_host_percent", "-1", "-1", "-1 is too small; it can be 0 or more"),
    ("postpone_limit", '"a week"', "a week", "'a week' is no number"),
    ("action_limit", "1e30", "1e30", "1e+30 is too large"),
    ("webhook_tries", "1.5", "1.5", "1.5 is no whole number"),
    ("webhook_timeout", "0", "0", "0 is too small; it can be 0.1 or more"),
    ("machines", "1.0", None, "1.0 is no text; write it in quotes"),
    ("simulated_seconds", '"reboot"', "reboot", "reboot has no seconds; write it like reboot=60"),
    ("simulated_seconds", "{ boot = 1 }", "boot=1", "'boot' is no action; known are deallocate, delete, freeze"),
    ("simulated_seconds", "{ reboot = -1 }", "reboot=-1", "-1 is too small; it can be 0 or more"),
    ("simulated_seconds", '["reboot=x"]', "reboot=x", "'x' is no number"),
    ("log_format", '"xml"', "xml", "'xml' is no log format; it can be auto, plain or json"),
]
AS_ON_AZURE = {
    Action.FREEZE: 595,
    Action.MIGRATE: 295,
    Action.REBOOT: 595,
    Action.REDEPLOY: 595,
    Action.RESTORE: 595,
}


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("azure", AS_ON_AZURE),
        ("azure,reboot=60", AS_ON_AZURE | {Action.REBOOT: 60}),
        (["azure", "delete=1"], AS_ON_AZURE | {Action.DELETE: 1}),
    ],
)
def test_preset_azure_sets_simulated_seconds_and_later_values_override_it(
    written: object, seconds: dict[Action, float]
):
    assert load_settings({"simulated_seconds": written}, {}, None).simulated_seconds == seconds


AS_TEXT = [(name, text, sentence) for name, _, text, sentence in WRONG if text is not None]


def settings_file(directory: Path, text: str) -> Path:
    file = directory / "forewarn.toml"
    file.write_text(text)
    return file


def refused(flags: dict[str, Any], environment: dict[str, str], file: Path | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_settings(flags, environment, file)
    return caught.value


def test_every_setting_has_a_sample_and_a_place_to_go():
    assert list(SAMPLES) == [setting.name for setting in SETTINGS] == [field.name for field in fields(Settings)]


def test_without_any_word_the_defaults_hold():
    assert load_settings({}, {}) == Settings()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_flag_wins_over_the_environment_which_wins_over_the_file(setting, tmp_path: Path):
    sample = SAMPLES[setting.name]
    file = settings_file(tmp_path, f"{setting.name} = {sample.in_file}\n")
    environment = {setting.variable: sample.in_environment}

    found = [
        load_settings({}, {}, file),
        load_settings({}, environment, file),
        load_settings({setting.name: sample.as_flag}, environment, file),
    ]

    assert [getattr(each, setting.name) for each in found] == list(sample.meant)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_flag_that_is_not_given_leaves_the_environment_its_say(setting):
    sample = SAMPLES[setting.name]
    not_given = () if setting.repeats else False if setting.is_switch else None

    found = load_settings({setting.name: not_given}, {setting.variable: sample.in_environment})

    assert getattr(found, setting.name) == sample.meant[1]


def test_a_table_in_the_file_is_as_good_as_a_list(tmp_path: Path):
    file = settings_file(tmp_path, "lead = 3\n\n[simulated_seconds]\nreboot = 1\n")

    assert load_settings({}, {}, file) == Settings(lead=3.0, simulated_seconds={Action.REBOOT: 1.0})


def test_variables_that_are_no_settings_are_left_alone():
    assert load_settings({}, {"FOREWARN_URL": "http://x", "FOREWARN_TOKEN": "x", "LEAD": "9"}) == Settings()


# Values that cannot be used.


@pytest.mark.parametrize(("name", "value", "sentence"), [(name, value, said) for name, value, _, said in WRONG])
def test_a_wrong_value_in_the_file_is_told_with_its_line(name: str, value: str, sentence: str, tmp_path: Path):
    file = settings_file(tmp_path, f"# settings\n\n{name} = {value}\n")

    problem = refused({}, {}, file)

    assert problem.message.startswith(f"{file}:3: {name}: ")
    assert sentence in problem.message
    assert problem.hint == f"See forewarn serve --help for --{name.replace('_', '-')}."


@pytest.mark.parametrize(("name", "text", "sentence"), AS_TEXT)
def test_a_wrong_value_in_the_environment_is_told_with_its_variable(name: str, text: str, sentence: str):
    problem = refused({}, {f"FOREWARN_{name.upper()}": text})

    assert problem.message.startswith(f"FOREWARN_{name.upper()}: ")
    assert sentence.replace("1e+30", "1e30") in problem.message


@pytest.mark.parametrize(("name", "text", "sentence"), [each for each in AS_TEXT if each[0] != "demo"])
def test_a_wrong_value_of_a_flag_is_told_with_the_flag(name: str, text: str, sentence: str):
    repeats = name in {"metadata", "simulated_seconds"}

    problem = refused({name: (text,) if repeats else text}, {})

    assert problem.message.startswith(f"--{name.replace('_', '-')}: ")
    assert sentence.replace("1e+30", "1e30") in problem.message


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("lead = 3\n\nrate-limit = 5\n", "{file}:3: there is no setting rate-limit.", "Did you mean rate_limit?"),
        (
            "lead = 3\n[xyzzy]\nlead = 3\n",
            "{file}:2: there is no setting xyzzy.",
            "See forewarn serve --help for what can be set.",
        ),
        ("lead = 3\nlead = 4\n", "{file}:2: Cannot overwrite a value.", "Mend the TOML syntax."),
        ("lead = \n", "{file}:1: Invalid value.", "Mend the TOML syntax."),
    ],
    ids=["a hyphen", "an unknown table", "a setting twice", "no value"],
)
def test_a_file_that_cannot_be_used_is_told_with_the_line(text: str, message: str, hint: str, tmp_path: Path):
    file = settings_file(tmp_path, text)

    problem = refused({}, {}, file)

    assert (problem.message, problem.hint) == (message.format(file=file), hint)


def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path):
    missing, binary = tmp_path / "missing.toml", tmp_path / "binary.toml"
    binary.write_bytes(b"\xff")

    assert refused({}, {}, missing).message == f"{missing} cannot be read: No such file or directory."
    assert refused({}, {}, binary).message == f"{binary} is not UTF-8 text."


# What follows from them.


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        (Settings(), 5.0),
        (Settings(clock="virtual"), 0.0),
        (Settings(clock="virtual", rate_limit=2.0), 2.0),
        (Settings(rate_limit=0.0), 0.0),
    ],
    ids=["system clock", "virtual clock", "virtual clock and a limit", "no limit"],
)
def test_the_rate_limit_is_off_with_the_virtual_clock_unless_given(settings: Settings, limit: float):
    assert settings.requests_per_second == limit
