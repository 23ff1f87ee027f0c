"""What tests of refused files share: a fleet, actions on it, and the lines of the refusal."""

from __future__ import annotations

import pytest

from forewarn.scenario.file.checks import check
from forewarn.scenario.file.reader import BadScenario, read_scenario

# FileLine 1 is empty; app-0 stands on lines 2 and 3, spot-0 on 5 to 7, gone-0 on 9 to 11.
FLEET = """
[[vms]]
name = "app-0"

[[vms]]
name = "spot-0"
priority = "Spot"

[[vms]]
name = "gone-0"
terminate_notification = "PT5M"

[[availability_sets]]
name = "web"

"""
AFTER = FLEET.count("\n") + 1  # the line on which what is wrong begins
RESTART = '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "app-0"\n'
DELETE = '[[at]]\ntime = "1m"\ndo = "delete"\nvm = "gone-0"\n'
MAINTAIN = '[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nnotice = "2h"\n'
EXPECT_OF_RESTART = f'{RESTART}[[expect]]\ntime = "2m"\nvm = "app-0"\n'
EXPECT_OF_GUEST = f'[[guests]]\nvm = "app-0"\n{RESTART}[[expect]]\ntime = "16m"\nguest = "app-0"\n'
GROW = (
    '[[scale_sets]]\nname = "pool"\ncapacity = 1\n[[at]]\ntime = "1m"\ndo = "scale"\nscale_set = "pool"\nto = 2\n'
)
APPROVING = '[[guests]]\nvm = "app-0"\napprove_after = "2m"\n'


def refusal_of(text: str) -> tuple[str, ...]:
    """Every line of the refusal."""
    with pytest.raises(BadScenario) as refused:
        check(read_scenario(text, "bad.toml"))
    return refused.value.lines


def refused_lines(text: str) -> list[int]:
    """The numbers of the lines that the refusal names."""
    return [int(line.split(":")[1]) for line in refusal_of(text)]
