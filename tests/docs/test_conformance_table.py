"""The page of conformance names every statement and the tests that show it."""

from __future__ import annotations

import subprocess
import sys

from tests.running import ROOT


def test_the_page_of_conformance_names_the_tests_that_there_are():
    command = [sys.executable, "-m", "tests.conformance.table", "--check"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)

    assert checked.returncode == 0, checked.stderr + checked.stdout
