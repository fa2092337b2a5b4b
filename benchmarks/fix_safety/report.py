"""What a run of the generator found, as text and as JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from typing import Any

from benchmarks.fix_safety.check import Checked
from benchmarks.fix_safety.compare import KINDS


def table(checked: Sequence[Checked]) -> str:
    """Programs, changed ones and differing ones, then by rule and by kind of difference."""
    changed = [c for c in checked if c.fixed.text != c.fixed.program.text]
    differ = [c for c in changed if c.found]
    compared = sum(c.ran for c in changed)
    share = f"{100 * len(changed) / len(checked):.0f} %" if checked else "none"
    lines = [
        f"programs {len(checked)}, changed {len(changed)} ({share}), differing {len(differ)}, "
        f"of which only under compile {sum(c.under_compile for c in differ)}",
        f"inputs compared {compared}; changed programs whose original ran on none: {sum(c.ran == 0 for c in changed)}",
        "", f"{'rule':<8}{'changed':>9}{'differing':>11}",
    ]  # fmt: skip
    rules = Counter(rule for c in changed for rule in c.fixed.rules)
    wrong = Counter(rule for c in differ for rule in c.fixed.rules)
    lines += [f"{rule:<8}{count:>9}{wrong[rule]:>11}" for rule, count in sorted(rules.items())]
    kinds = Counter(kind for c in differ for kind in c.kinds)
    lines += ["", f"{'kind of difference':<32}{'programs':>9}"]
    order = {kind: number for number, kind in enumerate(KINDS)}
    lines += [
        f"{kind:<32}{count:>9}"
        for kind, count in sorted(kinds.items(), key=lambda item: (order.get(item[0].split(", comp")[0], 99), item[0]))
    ]
    features = Counter(f for c in changed for f in c.fixed.program.features or {"honest"})
    odd = Counter(f for c in differ for f in c.fixed.program.features or {"honest"})
    lines += ["", f"{'feature':<28}{'changed':>9}{'differing':>11}"]
    lines += [f"{feature:<28}{count:>9}{odd[feature]:>11}" for feature, count in features.most_common()]
    return "\n".join(lines)


def groups(checked: Iterable[Checked]) -> dict[tuple[str, ...], list[Checked]]:
    """The differing programs by rules and kinds, the smallest of each first."""
    found: dict[tuple[str, ...], list[Checked]] = defaultdict(list)
    for one in checked:
        if one.found:
            found[(*one.fixed.rules, *one.kinds)].append(one)
    for members in found.values():
        members.sort(key=lambda c: len(c.fixed.program.text))
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def shown(one: Checked) -> str:
    """A difference in full: the change, the input, and what differs."""
    before, after = one.fixed.program.text, one.fixed.text
    diff = "\n".join(unified_diff(before.splitlines(), after.splitlines(), "original", "fixed", n=1, lineterm=""))
    lines = [
        f"### {one.fixed.program.name}: {', '.join(one.kinds)}",
        "",
        "```python",
        before.rstrip(),
        "```",
        "",
        "```diff",
        diff,
        "```",
    ]
    lines += [f"reasons: {reason}" for reason in one.fixed.reasons]
    lines += [f"input: {one.failing_input}"]
    lines += [f"differs: {d.kind} at {d.where}: {d.before} -> {d.after}" for d in one.found[:4]]
    return "\n".join(lines)


def as_json(one: Checked) -> dict[str, Any]:
    """A difference as data."""
    return {
        "program": one.fixed.program.name,
        "rules": one.fixed.rules,
        "features": sorted(one.fixed.program.features),
        "kinds": one.kinds,
        "under_compile": one.under_compile,
        "original": one.fixed.program.text,
        "fixed": one.fixed.text,
        "input": repr(one.failing_input),
        "differences": [vars(d) for d in one.found],
    }
