"""The twelve laws and the terms of rollouts. A checker sees what the witness sees and raises `LawBroken`."""

from __future__ import annotations

from tests.simulation.laws import (
    law01_not_before,
    law02_notice,
    law03_told_first,
    law04_once,
    law05_update_domains,
    law06_incarnation,
    law07_one_way,
    law08_same_bytes,
    law09_answered,
    law10_ends,
    law11_unrelated,
    law12_minimum,
    rollout_terms,
)

LAWS = (
    law01_not_before.Law,
    law02_notice.Law,
    law03_told_first.Law,
    law04_once.Law,
    law05_update_domains.Law,
    law06_incarnation.Law,
    law07_one_way.Law,
    law08_same_bytes.Law,
    law09_answered.Law,
    law10_ends.Law,
    law11_unrelated.Law,
    law12_minimum.Law,
    rollout_terms.Law,
)
