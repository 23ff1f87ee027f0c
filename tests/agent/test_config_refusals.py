from __future__ import annotations

import os
from pathlib import Path

import pytest

from forewarn.agent.config import read_settings
from forewarn.agent.config_problems import ConfigProblems
from forewarn.agent.settings import AZURE, Settings
from tests.agent.kinds import KINDS

PROFILE = '[[rules]]\nprofile = "drain"\n[profiles.drain]\n'  # three lines
STEP = '[[profiles.drain.steps]]\nuses = "note"\nfile = "/tmp/x"\n'  # three lines


def read(text: str, tmp_path: Path, mode: int = 0o640, **environment: str) -> Settings:
    file = tmp_path / "agent.toml"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return read_settings(file, environment, {}, handlers=KINDS)


def refusals(text: str, tmp_path: Path, mode: int = 0o640, **environment: str) -> list[str]:
    with pytest.raises(ConfigProblems) as caught:
        read(text, tmp_path, mode, **environment)
    return [str(each).replace(f"{tmp_path}/", "") for each in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\npoll_secnds = 1\n", "agent.toml:2: The file has no key poll_secnds. Did you mean poll_seconds?"),
        ("zzz = 1\n", "agent.toml:1: The file has no key zzz. It can be endpoint, api_version,"),
        ('dry_run = "yes"\n', "agent.toml:1: dry_run: 'yes' is neither true nor false."),
        ("poll_seconds = true\n", "agent.toml:1: poll_seconds: true is no number."),
        ("poll_seconds = 0.1\n", "agent.toml:1: poll_seconds: 0.1 is too small; it can be 0.2 or more."),
        ("poll_seconds = nan\n", "agent.toml:1: poll_seconds: nan is no number"),
        (
            'poll_seconds = "5 parsecs"\n',
            "agent.toml:1: poll_seconds: '5 parsecs' is no length of time; write it like",
        ),
        ('listen = "nowhere"\n', "agent.toml:1: listen: 'nowhere' is no address; write it like 127.0.0.1:8256."),
        ('endpoint = "https://a"\n', "agent.toml:1: endpoint: The endpoint 'https://a' is not http"),
        ("endpoint = []\n", "agent.toml:1: endpoint: the list is empty"),
        ('log_format = "jsn"\n', "it can be auto, plain or json. Did you mean json?"),
        ("rules = 3\n", "agent.toml:1: rules is no list of tables. Write each as [[rules]]."),
        ("[rules]\nprofile='x'\n", "agent.toml:1: rules is no list of tables. Write each as [[rules]]."),
        (
            "[[rules]]\nname = 'x'\n",
            "agent.toml:1: Rule 1 says no profile. Add profile: The profile that it leads to.",
        ),
        (
            "[[rules]]\nprofile = 'drian'\n[profiles.drain]\n",
            "agent.toml:2: There is no profile drian. Did you mean drain?",
        ),
        (
            "[[rules]]\nprofile = 'qqq'\n",
            'agent.toml:2: There is no profile qqq. There are "log only", which does',
        ),
        (f"{PROFILE}[[rules]]\nprofile='drain'\nbetween=['8','x']\n", "agent.toml:6: between:"),
        (
            f"{PROFILE}[[rules]]\nprofile='drain'\ndescription='('\n",
            "agent.toml:6: description: '(' is no regular",
        ),
        (
            "[[rules]]\nprofile = 'log only'\nmin_resources = 3\nmax_resources = 2\n",
            "agent.toml:3: min_resources is 3 and max_resources is 2, so that no event fits.",
        ),
        ("profiles = 3\n", "agent.toml:1: profiles is no table."),
        ("[profiles]\ndrain = 3\n", "agent.toml:2: drain is no table. Write it as [profiles.drain]."),
        (
            f"{PROFILE}approvall = 'never'\n",
            "agent.toml:4: Profile drain has no key approvall. Did you mean approval?",
        ),
        (
            f"{PROFILE}together = 'leader'\n",
            "agent.toml:4: Profile drain approves together with others, and there are",
        ),
        (
            f"{PROFILE}[[profiles.drain.steps]]\nname='x'\n",
            "agent.toml:4: Step x says no uses. Add uses: The kind of",
        ),
        (
            f"{PROFILE}[[profiles.drain.steps]]\nuses = 'nte'\n",
            "agent.toml:5: There is no kind of handler nte. Did you mean note?",
        ),
        (
            f"{PROFILE}[[profiles.drain.steps]]\nuses = 'note'\n",
            "agent.toml:4: Step 1 (note) says no file. Add file: The",
        ),
        (f"{PROFILE}{STEP}fil = 'x'\n", "agent.toml:7: Step 1 (note) has no key fil. Did you mean file?"),
        (f"{PROFILE}{STEP}retires = 3\n", "agent.toml:7: Step 1 (note) has no key retires. Did you mean retries?"),
        (f"{PROFILE}{STEP}fails = 'x'\n", "agent.toml:7: fails: 'x' is no number."),
        (
            f"{PROFILE}{STEP}otherwise = {{ fil = 3 }}\n",
            "agent.toml:7: otherwise has no key fil. Did you mean file?",
        ),
        (
            f"{PROFILE}[[profiles.drain.steps]]\nuses = 'note'\nfile = 'x'\n",
            "agent.toml:6: Step 1 (note): file has to be absolute.",
        ),
        (
            f"{PROFILE}{STEP}{STEP}",
            "agent.toml:7: There is already a step note. Give each step a name of its own.",
        ),
        (f"{PROFILE}{STEP}needs = ['nots']\n", "agent.toml:7: Step note needs nots, and there is no such step."),
        (f"{PROFILE}{STEP}needs = ['note']\n", "agent.toml:7: Step note needs itself."),
        (
            f"{PROFILE}{STEP}needs = ['b']\n{STEP}name = 'b'\ngroup = 2\n",
            "agent.toml:7: Step note is in group 1, and b, which it needs, in group 2. Put b into group",
        ),
        (
            f"{PROFILE}{STEP}needs = ['b']\n{STEP}name = 'b'\non = 'started'\n",
            "agent.toml:7: Step note is on prepare, and b, which it needs, on started.",
        ),
        (
            f"{PROFILE}{STEP}needs = ['b']\n{STEP}name = 'b'\nneeds = ['c']\n{STEP}name = 'c'\nneeds = ['note']\n",
            "agent.toml:7: Steps wait for each other: note needs b needs c needs note.",
        ),
        ("[peers]\nlisten = '127.0.0.1:1'\n", "agent.toml:1: [peers] says no secret. Add secret: The same on all"),
        (
            "[peers]\nlisten = ':8256'\nsecret = 'x'\n",
            "agent.toml:2: 127.0.0.1:8256 is already where the agent listens.",
        ),
        ("[peers]\nlisten = ':1'\nsecret = ''\n", "agent.toml:3: secret: it is empty; write a text,"),
        ("[peers]\nlisten = ':1'\nsecret = 3\n", "agent.toml:3: secret: it is no secret; write a text,"),
        (
            "[peers]\nlisten = ':1'\nsecret = {env='NO'}\n",
            "agent.toml:3: secret: NO is not in the environment; set it,",
        ),
        (
            "[peers]\nlisten = ':1'\nsecret = {file='no'}\n",
            "no cannot be read (No such file or directory); mend that",
        ),
        ("a = \n", "agent.toml:1: Invalid value. Mend the TOML syntax."),
        ("a = " + "[" * 5000, "agent.toml: It is nested too deeply. Write it flatter."),
        ("poll_seconds" + ".a" * 5000 + " = 1", "agent.toml: It is nested too deeply. Write it flatter."),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_what_to_do(text: str, words: str, tmp_path: Path):
    found = refusals(text, tmp_path)

    assert len(found) == 1, found
    assert words in found[0]


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_the_file(tmp_path: Path):
    text = "poll = 1\n[[rules]]\nprofile = 'no'\ntypes = 3\n[profiles.x]\nlead_seconds = -1\n"

    found = refusals(text, tmp_path, FOREWARN_AGENT_LISTEN="x")

    assert [each.partition(": ")[0] for each in found] == [
        "agent.toml:1",
        "agent.toml:3",
        "agent.toml:4",
        "agent.toml:6",
        "FOREWARN_AGENT_LISTEN",
    ]


def test_a_secret_that_everybody_may_read_is_refused(tmp_path: Path):
    (tmp_path / "secret").write_text("shared", encoding="utf-8")
    (tmp_path / "secret").chmod(0o644)

    found = refusals("[peers]\nlisten = ':1'\nsecret = { file = 'secret' }\n", tmp_path)

    assert found == ["agent.toml:3: secret: secret may be read by everybody; run: chmod o-rwx secret."]


def test_a_file_that_everybody_may_change_is_refused(tmp_path: Path):
    found = refusals("", tmp_path, mode=0o646)

    assert found == [
        "agent.toml: Everybody may change it, and with it what the agent runs. Run: chmod o-w agent.toml"
    ]


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(ConfigProblems, match="It cannot be read: No such file or directory"):
        read_settings(tmp_path / "absent.toml", {}, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[[rules]]\ntypes = ['Rebot']\nprofile = 'log only'\n",
            "agent.toml:2: types: Rebot is not known. Did you mean Reboot?",
        ),
        (
            "[[rules]]\nprofile = 'log only'\n[[rules]]\ntypes = ['Freeze']\nprofile = 'log only'\n",
            "agent.toml:3: Rule 2 never matches: the one in line 1 takes all it would. Put the narrower",
        ),
        ("[profiles.drain]\n", "agent.toml:1: No rule leads to profile drain."),
        (
            f"{PROFILE}lead_seconds = 30\n{STEP}{STEP}name = 'b'\ngroup = 2\n",
            "agent.toml:4: The steps of profile drain may take 120 s; 25 s are left for them.",
        ),
        (
            f"[[rules]]\ntypes = ['preempt']\nprofile = 'drain'\n[profiles.drain]\nreserve_seconds = 40\n{STEP}",
            "agent.toml:5: No step of profile drain can run for Preempt: Azure announces it as late as 30 s",
        ),
        (
            f"{PROFILE}reserve_seconds = 40\n{STEP}",
            "agent.toml:4: No step of profile drain can run for Preempt",
        ),
        (
            f"[[rules]]\ntypes = ['Redeploy']\nprofile = 'drain'\n[profiles.drain]\n{STEP}timeout_seconds = 660\n",
            "agent.toml:1: The steps of profile drain may take 660 s; Redeploy may leave them 595 s.",
        ),
        (
            f"{PROFILE}{STEP}timeout_seconds = '15m'\n",
            "agent.toml:1: The steps of profile drain may take 900 s;",
        ),
        (
            f"{PROFILE}approval = 'after_success'\n",
            "agent.toml:4: Profile drain has no steps to prepare with",
        ),
    ],
)
def test_what_is_probably_not_meant_is_told_and_taken(text: str, words: str, tmp_path: Path):
    warnings = read(text, tmp_path).warnings

    assert len(warnings) == 1
    assert words in warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{PROFILE}{STEP}timeout_seconds = '14m'\n", id="a rule for all types, long enough for some"),
        pytest.param(
            f"[[rules]]\ntypes = ['Preempt']\nprofile = 'log only'\n{PROFILE}reserve_seconds = 40\n{STEP}",
            id="an earlier rule takes what has no time",
        ),
        pytest.param(f"{PROFILE}approval = 'manual'\n", id="nothing is approved without an operator"),
        pytest.param(f"{PROFILE}approval = 'after_success'\n{STEP}on = 'detected'\n", id="a step before approval"),
    ],
)
def test_what_fits_its_notice_is_not_doubted(text: str, tmp_path: Path):
    assert read(text, tmp_path).warnings == ()


def test_nonsense_about_where_the_endpoint_is_is_refused_where_it_counts(tmp_path: Path):
    nonsense = {"SCHEDULEDEVENTSIP": "not an ip!"}

    [found] = refusals('endpoint = "discover"\n', tmp_path, **nonsense)

    assert found == (
        "SCHEDULEDEVENTSIP: SCHEDULEDEVENTSIP is 'not an ip!', which is no address: say HOST or HOST:PORT. "
        "Put it right, or take it out: then DHCP and Azure's address are what is left."
    )
    assert read("", tmp_path, **nonsense).endpoints == (AZURE,)


def test_a_variable_that_is_none_of_ours_is_doubted(tmp_path: Path):
    warnings = read("", tmp_path, FOREWARN_AGENT_POLL="1", FOREWARN_OTHER="2").warnings

    assert warnings == (
        "FOREWARN_AGENT_POLL: There is no such setting. Did you mean FOREWARN_AGENT_POLL_SECONDS?",
    )


@pytest.mark.parametrize(
    ("said", "is_doubted"),
    [
        ("environment = { PIN = { env = 'PIN' } }", True),
        ("environment = { TOKEN = 'k9z' }", True),
        ("environment = { LEVEL = '3' }", False),
        ("environment = { KEY = { env = 'KEY' } }", False),
    ],
)
def test_a_secret_that_is_too_short_to_be_kept_out_of_notes_is_doubted(
    tmp_path: Path, said: str, *, is_doubted: bool
):
    file = tmp_path / "agent.toml"
    step = f'[[profiles.drain.steps]]\nuses = "command"\ncommand = ["true"]\n{said}\n'
    file.write_text(f"{PROFILE}{step}", encoding="utf-8")
    file.chmod(0o640)

    warnings = read_settings(file, {"PIN": "k9z", "KEY": "k9zz"}, {}).warnings

    assert any("is too short to be kept out of notes and logs." in each for each in warnings) is is_doubted
    assert "k9z" not in "".join(warnings)


def test_a_secret_in_a_file_that_everybody_may_read_is_doubted(tmp_path: Path):
    warnings = read("[peers]\nlisten = ':1'\nsecret = 'shared'\n", tmp_path, mode=0o644).warnings

    assert len(warnings) == 1
    assert "agent.toml:3: secret is a secret in a file that everybody may read. Run chmod o-rwx" in warnings[0]
    assert "shared" not in warnings[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pipe", "audit_file is pipe, which is a pipe, a device or the like, and no file. Name a file;"),
        ("directory", "audit_file is directory, which is a directory, and no file. Name a file;"),
        ("no/such/file", "audit_file is no/such/file, and there is no directory no/such. Make the directory, or"),
        ("agent.toml/file", "audit_file is agent.toml/file, and there is no directory agent.toml. Make the"),
    ],
)
def test_what_can_be_no_audit_file_is_refused_wherever_it_was_said(name: str, words: str, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()

    [by_the_file] = refusals(f"\naudit_file = '{tmp_path}/{name}'\n", tmp_path)
    [by_a_variable] = refusals("", tmp_path, FOREWARN_AGENT_AUDIT_FILE=f"{tmp_path}/{name}")

    assert by_the_file.startswith(f"agent.toml:2: {words}")
    assert by_a_variable.startswith(f"FOREWARN_AGENT_AUDIT_FILE: {words}")


@pytest.mark.parametrize("key", ["audit_file", "state_dir"])
def test_what_can_be_no_path_is_refused(key: str, tmp_path: Path):
    [refusal] = refusals(f'{key} = "\\u0000"', tmp_path)

    assert refusal.startswith(f"agent.toml:1: {key}: '\\x00' can be no path.")


@pytest.mark.parametrize("name", ["there", "new", "state/new", "parent/new"])
def test_an_audit_file_may_be_new_also_where_the_agent_makes_the_directory(name: str, tmp_path: Path):
    (tmp_path / "there").touch()
    state = "state" if name.startswith("state") else "parent/state"

    settings = read(f"state_dir = '{tmp_path}/{state}'\naudit_file = '{tmp_path}/{name}'\n", tmp_path)

    assert settings.audit_file == tmp_path / name


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            'command = ["/nowhere/drian"]',
            "agent.toml:6: Step 1 (command): command runs /nowhere/drian, and there",
        ),
        (
            'command = ["true"]\nundo = ["nosuchprogram"]',
            "agent.toml:7: Step 1 (command): undo runs nosuchpro",
        ),
        (
            'command = ["./agent.toml"]\ncwd = "{place}"',
            "agent.toml:6: Step 1 (command): command runs {place}/./",
        ),
    ],
)
def test_a_program_that_is_not_here_is_doubted_with_its_line(said: str, words: str, tmp_path: Path):
    file = tmp_path / "agent.toml"
    text = f'{PROFILE}[[profiles.drain.steps]]\nuses = "command"\n{said.format(place=tmp_path)}\n'
    file.write_text(text, encoding="utf-8")
    file.chmod(0o640)

    warnings = [
        each.replace(f"{tmp_path}/agent.toml:", "agent.toml:") for each in read_settings(file, {}, {}).warnings
    ]

    assert len(warnings) == 1
    assert warnings[0].startswith(words.format(place=tmp_path))


def test_what_is_wrong_with_an_option_is_said_with_its_own_line(tmp_path: Path):
    text = f'{PROFILE}[[profiles.drain.steps]]\nuses = "note"\nretries = 2\nfile = "x"\n'

    assert refusals(text, tmp_path) == ["agent.toml:7: Step 1 (note): file has to be absolute."]
