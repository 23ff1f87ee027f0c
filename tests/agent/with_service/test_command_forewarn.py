"""`forewarn agent`: the agent as one of the commands of the service."""

from __future__ import annotations

import sys

from forewarn import __version__
from tests.agent.running_command import FOREWARN, process
from tests.waiting import ROOT


def test_the_agent_is_among_the_commands_and_has_a_help_of_its_own():
    whole = process([str(FOREWARN), "--help"])
    own = process([str(FOREWARN), "agent", "--help"])

    assert "agent       The program in the guest" in whole.out
    assert own.code == 0
    assert own.out.startswith("usage: forewarn agent [OPTIONS] COMMAND [ARGS]...")
    assert process([str(FOREWARN), "agent", "--version"]).out == f"forewarn agent {__version__}\n"


def test_the_command_loads_nothing_but_the_agent_and_the_standard_library():
    code = (
        "import sys; before = set(sys.modules)\n"
        "sys.argv = ['forewarn', 'agent', 'check', '--config', sys.argv[1]]\n"
        "from forewarn.cli.entry import main\n"
        "try:\n    main()\nexcept SystemExit as leaving:\n    assert not leaving.code\n"
        "for name in sorted(set(sys.modules) - before):\n    print(name, file=sys.stderr)\n"
    )

    done = process([sys.executable, "-c", code, str(ROOT / "examples/agent.toml")])

    assert done.code == 0, done.err
    loaded = done.err.split()
    ours = [name for name in loaded if name.partition(".")[0] == "forewarn"]
    others = {name.partition(".")[0] for name in loaded} - {"forewarn"} - set(sys.stdlib_module_names)
    assert others == set()
    assert {name for name in ours if not name.startswith("forewarn.agent")} == {
        "forewarn",
        "forewarn.cli",
        "forewarn.cli.entry",
    }
    heavy = {"asyncio", "email", "hashlib", "hmac", "http.client", "secrets", "ssl", "tempfile", "urllib.request"}
    assert heavy & set(loaded) == set()
