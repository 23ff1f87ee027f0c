"""The metrics, from the table that /metrics is made from."""

from __future__ import annotations

import re

from forewarn.operator.metrics import FIGURES, expose
from tools.markdown import code, page, table

_HELP = re.compile(r"# HELP (\w+) (.*)\n# TYPE \1 (\w+)\n")
_INTRODUCTION = """\
What `GET /metrics` on the operators' listener gives to Prometheus. A metric with labels has a line for each value
that there is, and none before there is one. Counters begin at 0 when the service starts."""


def write() -> str:
    """The page: each metric under the name that it is really exposed by."""
    rows = []
    for figure in FIGURES:
        exposed = expose([figure.collect({})]).decode()
        name, text, kind = _HELP.findall(exposed)[0]
        rows.append((code(name), kind, " ".join(map(code, figure.labels)), text))
    return page("Metrics", _INTRODUCTION, table(("name", "type", "labels", "what it counts"), rows))
