"""docs/guidance.md: what guides say about torch.compile, and the rule or the command that answers each piece of advice.

    python -m tools.guidance > docs/guidance.md

It is made from ``tools/guidance.toml`` and the rules; ``tests/tools/test_guidance.py`` holds that it is not stale.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphdoctor.lint.catalog import rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).with_name("guidance.toml")

#: How a command is called.
COMMANDS = {
    "scan": "`scan`",
    "vary": "`scan --vary`",
    "advise": "`advise`",
    "bench": "`bench`",
    "trace": "`trace`",
}


@dataclass(frozen=True)
class Advice:
    """One piece of advice. ``rules`` are codes, or families such as GD2xx; ``reason`` says why nothing answers it."""

    number: int
    text: str
    rules: tuple[str, ...]
    commands: tuple[str, ...]
    reason: str
    result: str

    @property
    def answer(self) -> str:
        """How it is answered: "rule", "measurement", "both" or "neither"."""
        if self.rules and self.commands:
            return "both"
        return "rule" if self.rules else "measurement" if self.commands else "neither"


def read() -> dict[str, Any]:
    """The data file."""
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def advice(rows: Iterable[list[Any]]) -> list[Advice]:
    """The rows of the data file."""
    return [Advice(n, text, tuple(r.split()), tuple(c.split()), why, result) for n, text, r, c, why, result in rows]


def page(data: dict[str, Any]) -> str:
    """The whole page."""
    found = advice(data["rows"])
    count = Counter(each.answer for each in found)
    names = {rule.code: rule.name for rule in rules()}
    lines = [
        "# What guides say, and what answers it",
        "",
        "<!-- Made by `python -m tools.guidance > docs/guidance.md`; edit tools/guidance.toml. -->",
        "",
        f"Advice on torch.compile from guides, forums and posts, {len(found)} pieces, and what torch {data['torch']}",
        f"does ({data['others']}; on a CPU).",
        f"{count['both']} have a rule and a measurement, {count['rule']} a rule, {count['measurement']} a measurement,",
        f"{count['neither']} neither.",
        "",
        "`graphdoctor explain CODE` shows a rule. `scan`, `advise` and the other commands run a file that has a sample",
        "([samples.md](samples.md)).",
        "",
        "| # | Advice | Rule | Measured by | Result |",
        "|---|---|---|---|---|",
        *(_row(each, names) for each in found),
        "",
        "## Fine in this version",
        "",
        "Guides warn of these; no rule reports them, and a test runs each and finds no harm.",
        "",
        "| What | Test in `run_usage.py` of the tests | More in |",
        "|---|---|---|",
        *(f"| {what} | `{test}` | {code} |" for what, test, code in data["fine"]),
    ]
    return "\n".join(lines) + "\n"


def _row(each: Advice, names: dict[str, str]) -> str:
    shown = ", ".join(f"{code} {names[code]}" if code in names else code for code in each.rules)
    commands = ", ".join(COMMANDS[command] for command in each.commands)
    neither = f"neither: {each.reason}" if each.answer == "neither" else ""
    return f"| {each.number} | {each.text} | {shown} | {commands or neither} | {each.result} |"


if __name__ == "__main__":
    sys.stdout.write(page(read()))
