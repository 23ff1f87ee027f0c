"""Secrets in texts that come from outside: found in every form in which they may be repeated."""

from __future__ import annotations

import html
import json
import random
import re
import string
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from forewarn.agent.handlers import find
from forewarn.agent.secrecy import concealing, without
from tests.agent.receiver import receiving
from tests.agent.tasks import attempt

HTTP, PATRONI = find("http"), find("patroni")
FORMS = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with letters as they are": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON with slashes quoted": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "a part of a URL": lambda text: quote(text, safe=""),
    "a path": quote,
    "a form": quote_plus,
    "a URL in small letters": lambda text: re.sub("%..", lambda mark: mark[0].lower(), quote(text)),
    "HTML": html.escape,
    "HTML by numbers": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "Python": lambda text: repr(text)[1:-1],
    "Python's bytes": lambda text: repr(text.encode())[2:-1],
    "with other blanks": lambda text: "\n ".join(text.split(" ")),
}
SECRETS = ['Tr0ub4dor"and\\3', "correct horse+battery/staple", "p%C3ss&w=rd?", "pässwörd-ßecret", "<k€y>'😀'\\n!"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_is_found_in_every_form(secret, form):
    assert without([secret], f"login with {form(secret)} failed") == "login with [secret] failed"


def test_a_secret_is_found_when_it_was_quoted_twice():
    chance = random.Random(20)
    letters = string.ascii_letters + string.digits + string.punctuation + " äöß€😀"
    shown = []
    for _ in range(2000):
        secret = "x" + "".join(chance.choice(letters) for _ in range(12)) + "x"
        first, second = chance.choice(list(FORMS)), chance.choice(list(FORMS))
        said = without([secret], f"login with {FORMS[second](FORMS[first](secret))} failed")
        if said != "login with [secret] failed":
            shown.append((secret, first, second, said))

    assert shown == []


def test_a_secret_that_the_echo_of_a_shell_has_read_is_found(tmp_path: Path):
    options = {"command": "echo login with $KEY failed", "shell": True, "environment": {"KEY": 'Tr0ub4dor"and\\3'}}

    assert find("command").run(attempt(tmp_path, options)).note == "login with [secret] failed"


def test_what_is_no_secret_is_left_as_it_was():
    text = 'exit status 3: {"a": "\\u00e4\\n", "b": "%20 50%"} &amp; C:\\new  +1'

    assert without(["another", "abc", ""], text) == text


@pytest.mark.parametrize("letters", ["\\", "%25", "&amp;", "\\x", "+ ", '"\\'], ids=repr)
def test_a_long_text_is_looked_through_within_the_time_limit_of_a_test(letters):
    conceal = concealing(['"\\\\\\\\" \\\\+x', "x" * 60_000])

    assert conceal(letters * 20_000) == letters * 20_000


def test_what_a_server_repeats_of_a_body_is_not_told_in_the_form_that_it_was_sent(tmp_path: Path):
    options = {"body": '{"key": "${secret.key}"}', "secrets": {"key": 'Tr0ub4dor"and\\3'}}
    with receiving((400, rb'{"error": "bad: {\"key\": \"Tr0ub4dor\\\"and\\\\3\"}"}')) as receiver:
        result = HTTP.run(attempt(tmp_path, {"url": f"{receiver.url}/", **options}))

    assert result.note.endswith(r'answered 400: {"error": "bad: {\"key\": \"[secret]\"}"}')


@pytest.mark.parametrize("before", range(100, 125, 3))
def test_half_a_secret_is_not_told_where_an_answer_is_cut(tmp_path: Path, before: int):
    with receiving((400, b"." * before + b"qqqqqqqppppppp")) as receiver:
        options = {"url": f"{receiver.url}/", "headers": {"X-Key": "qqqqqqqppppppp"}}
        result = HTTP.run(attempt(tmp_path, options))

    assert "q" not in result.note


def test_what_patroni_repeats_of_the_word_by_which_it_is_asked_is_not_told(tmp_path: Path):
    with receiving((200, b"who is Basic YWRtaW46aHVudGVyMjI=?")) as receiver:
        options = {"url": receiver.url, "username": "admin", "password": "hunter22"}
        result = PATRONI.run(attempt(tmp_path, options, seconds=2))

    assert (result.is_done, "who is Basic [secret]?" in result.note) == (False, True)
