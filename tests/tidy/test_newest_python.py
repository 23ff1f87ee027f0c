"""What `make test-newest` says where there is no newer Python."""

from __future__ import annotations

import subprocess

from tests.running import ROOT


def test_newer_pythons_that_are_missing_are_named_and_the_target_fails():
    command = ["make", "--no-print-directory", "test-newest", "NEWER_PYTHONS=9.9 9.8"]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)

    assert ran.returncode != 0
    assert ran.stdout.count("There is no Python 9.") == 2
    assert "error: The tests need one of Python 9.9 9.8." in ran.stderr
