"""The results of many cases as a table, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.fixes.case import Result

#: What stands around the tables in a page.
BEGIN, END = "<!-- python -m benchmarks.fixes -->", "<!-- end -->"
LABELS = ("safe", "verified", "unsafe")


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """The numbers over all cases, and the cases."""
    ran = [r for r in results if not r.error]
    breaking = [r for r in ran if r.before or not r.fullgraph]
    before, after = sum(r.before for r in breaking), sum(min(r.after, r.before) for r in breaking)
    return {
        "models": len(results),
        "not_run": len(results) - len(ran),
        "models_that_break": len(breaking),
        "breaks_before": before,
        "breaks_removed": before - after,
        "to_zero": sum(r.is_zero for r in breaking),
        "to_zero_by_a_setting": sum(r.is_zero and any(w.whole_process for w in r.fixes) for r in breaking),
        "to_zero_without_unsafe": sum(r.is_zero and all(w.label != "unsafe" for w in r.fixes) for r in breaking),
        "fixes_by_label": dict(Counter(w.label for r in breaking for w in r.fixes)),
        "fixes_by_rule": _by_rule(breaking),
        "cases": [asdict(r) for r in results],
    }


def with_tables(page: str, tables: str) -> str:
    """``page`` with ``tables`` between the marks that it has for them."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables}{END}{after}"


def _by_rule(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    counted: dict[str, Counter[str]] = {}
    for written in (w for r in results for w in r.fixes):
        counted.setdefault(written.rule, Counter())[written.label] += 1
    return {rule: dict(counted[rule]) for rule in sorted(counted)}


def markdown(found: dict[str, Any]) -> str:
    """The table of the models, and that of the kinds of fix, of what ``summary`` gave."""
    before, removed, models = found["breaks_before"], found["breaks_removed"], found["models_that_break"]
    lines = [
        f"{removed} of {before} breaks removed; {found['to_zero']} of {models} models end in one graph,"
        f" {found['to_zero_by_a_setting']} of them by a setting for the whole process.",
        "",
        "| Model | Breaks before | after | One graph | Rounds | " + " | ".join(LABELS) + " |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in found["cases"]:
        if case["error"] or not (case["before"] or not case["fullgraph"]):
            continue
        count = Counter(w["label"] for w in case["fixes"])
        one = "yes" if case["after"] == 0 and case["fullgraph"] else "no"
        numbers = " | ".join(str(count[name]) for name in LABELS)
        name = case["name"] if case["mode"] == "eval" else f"{case['name']} ({case['mode']})"
        lines.append(f"| {name} | {case['before']} | {case['after']} | {one} | {case['rounds']} | {numbers} |")
    lines += ["", "| Rule | " + " | ".join(LABELS) + " |", "|---|---|---|---|"]
    for rule, count in found["fixes_by_rule"].items():
        lines.append(f"| {rule} | " + " | ".join(str(count.get(name, 0)) for name in LABELS) + " |")
    return "\n".join(lines) + "\n"
