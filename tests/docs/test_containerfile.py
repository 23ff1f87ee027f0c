"""The Containerfile, as far as it can be told without an engine: who runs, what he may write, who is heard."""

from __future__ import annotations

import re

from tests.running import ROOT

FILE = (ROOT / "packaging/Containerfile").read_text()


def test_it_is_marked_untested():
    assert FILE.startswith("# UNTESTED: ")


def test_who_runs_in_it_may_write_its_volume():
    (user,) = re.findall(r"^USER (\S+)$", FILE, re.MULTILINE)
    (volume,) = re.findall(r"^VOLUME (\S+)$", FILE, re.MULTILINE)

    assert re.search(rf"^RUN .*chown {user} {volume}$", FILE, re.MULTILINE)
    assert f"WORKDIR {volume}\n" in FILE


def test_no_port_is_exposed_on_which_nobody_is_heard():
    assert "EXPOSE" not in FILE  # its default listens on loopback only
