"""The output of ``graphdoctor fix``: each finding by what became of it, written, offered or refused, and the proof."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import explanation, is_offered, may_be_written
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line, printable
from graphdoctor.report.problems import problems
from graphdoctor.report.wording import plural

COLUMNS = 100


def render_rounds(rounds: Sequence[Diagnosis], unsafe: bool = False) -> str:
    """What each round but the last wrote, and the outcome of the last one, under titles where there are several.

    ``unsafe``: unsafe fixes were to be written, too.
    """
    *earlier, last = rounds
    if not earlier:
        return render(last, unsafe)
    total = sum(diagnosis.summary.fixed for diagnosis in rounds)
    blocks = []
    for number, diagnosis in enumerate(map(printable, earlier), 1):
        written = [f for f in diagnosis.findings if f.fix is not None and f.fix.written]
        notes = [one_line(note) for note in diagnosis.notes]
        blocks.append("\n".join([f"Round {number}, written:", *_lines(written), *notes]))
    blocks.append(f"Round {len(rounds)}\n\n{render(last, unsafe)}")
    return "\n\n".join(blocks) + f"{plural(total, 'fix', 'fixes')} written in all rounds.\n"


def render(diagnosis: Diagnosis, unsafe: bool = False) -> str:
    """The outcome as text, its numbers in the last line; ``unsafe`` as for ``render_rounds``."""
    shown = printable(diagnosis)
    there = [f for f in shown.findings if f.status != "refuted"]
    groups = {
        "Written:": [f for f in there if f.fix is not None and f.fix.written],
        "Not written:": [f for f in there if _is_left(f) and is_offered(f, owner=None)],
        "No automatic fix:": [f for f in there if _is_left(f) and not is_offered(f, owner=None)],
    }
    blocks = ["\n".join([title, *_lines(group)]) for title, group in groups.items() if group]
    if shown.verification is not None:
        result = shown.verification
        proof = [wording.verification(result, shown.findings), wording.verification_detail(result)]
        blocks.append("\n".join(["Verification:", *(line for text in proof for line in _wrapped(text, 2))]))
    troubled = [one_line(f"{p.title}: {p.path + ': ' if p.path else ''}{p.text}") for p in problems(shown)]
    if troubled:
        blocks.append("\n".join(troubled))
    notes = [one_line(note) for note in shown.notes]
    if notes:
        blocks.append("\n".join(notes))
    return "\n\n".join([*blocks, _closing(groups, unsafe)]) + "\n"


def left(diagnosis: Diagnosis) -> list[Finding]:
    """The findings that are still there."""
    return [f for f in diagnosis.findings if f.status != "refuted" and _is_left(f)]


def _is_left(finding: Finding) -> bool:
    return finding.fix is None or not finding.fix.written


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        place = finding.location
        yield from _wrapped(f"{place.path}:{place.line}: {finding.rule} [{finding.name}] {finding.message}", 2)
        fix = finding.fix
        if finding.suggestion and not is_offered(finding, owner=None):
            yield from _wrapped(finding.suggestion, 4)
        if fix is not None:
            yield from _wrapped(f"{wording.fix_kind(fix)}. {explanation(fix)}", 4)


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        one_line(text), COLUMNS, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _closing(groups: dict[str, list[Finding]], unsafe: bool) -> str:
    written, offered, none = groups.values()
    if not written and not offered and not none:
        return "Nothing to fix."
    left = len(offered) + len(none)
    text = f"{plural(len(written), 'fix', 'fixes')} written, {plural(left, 'finding')} left."
    # What was asked for and is not written, as an edit that overlaps another, this option does not write.
    more = 0 if unsafe else sum(is_offered(f) and not may_be_written(f, unsafe=False) for f in offered)
    if more:
        them = "it" if more == 1 else "them"
        text += f" {plural(more, 'fix', 'fixes')} may change behaviour: --unsafe-fixes writes {them} too."
    return text
