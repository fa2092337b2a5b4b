"""One finding in the text report, the way compilers show errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphdoctor.model.labels import explanation, is_offered, label, needs_advice, not_verified, sets_for_process
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line, width
from graphdoctor.report.excerpt import called_from, marked_line
from graphdoctor.report.overview.alike import others
from graphdoctor.report.text.paint import SEVERITY_STYLES, Paint, cut, hanging

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding, Fix
    from graphdoctor.report.text.look import Look

_SENTENCE = re.compile(r"(?<=[^.]\.) (?=[A-Z`])")


class Findings:
    """Shows one finding after the other. What holds for all findings of a rule is shown at the first of them."""

    def __init__(self, look: Look, ran: bool = False) -> None:
        self._look = look
        self._ran = ran
        self._paint = Paint(look.color)
        self._explained: set[tuple[str, str]] = set()
        #: What was said of fixes, and of which rule it was said first.
        self._fixes: dict[str, str] = {}

    def lines(self, alike: Sequence[Finding]) -> Iterator[str]:
        """The place and the message, the source line, why it matters, what to do; of findings that are alike for the
        first of them, with the places of the others.
        """
        finding = alike[0]
        yield from self._head(finding)
        gutter = " " * len(str(finding.location.line))
        yield from self._source(finding, gutter)
        if len(alike) > 1:
            yield from self._remark("also", others(alike), gutter)
        if self._look.verbose and finding.status not in ("static-only", "not-reached"):
            yield from self._remark("run", wording.status(finding), gutter)
        yield from self._remark("allowed", finding.allowed, gutter)
        calls = called_from(finding, always=self._look.verbose)
        if self._is_new(finding, f"{finding.location.path} {finding.function} {calls}"):
            yield from self._remark("called from", calls, gutter)
        if self._is_new(finding, finding.why):
            why = finding.why if self._look.verbose else _SENTENCE.split(one_line(finding.why))[0]
            yield from self._remark("why", why, gutter)
        yield from self._remedy(alike, gutter)

    def _head(self, finding: Finding) -> list[str]:
        place = finding.location
        where = f"{one_line(place.path)}:{place.line}:{place.column}"
        rule, severity = f"{finding.rule} [{finding.name}]", wording.SEVERITIES[finding.severity]
        plain = f"{where}: {severity} {rule} {finding.message}{wording.not_judged(finding, self._ran)}"
        lines = hanging(plain, 4, self._look.width)
        # Painted after wrapping, because colours have no width.
        styles = {where: ("bold",), f" {severity} ": ("bold", SEVERITY_STYLES[finding.severity])}
        for text, style in styles.items():
            lines[0] = lines[0].replace(text, self._paint(text, *style), 1)
        return lines

    def _source(self, finding: Finding, gutter: str) -> Iterator[str]:
        """The source line, with carets below what the message does not quote."""
        source = marked_line(finding)
        if source is None:
            return
        style = SEVERITY_STYLES[finding.severity]
        room = self._look.width - len(gutter) - 3
        shown = cut(source.text.rstrip(), room)
        if shown == source.text.rstrip():
            shown = source.before + self._paint(source.marked, "bold", style) + source.after.rstrip()
        yield f"{self._paint(f'{finding.location.line} |', 'blue')} {shown}".rstrip()
        before = width(source.before)
        if before < room and not _quotes(finding.message, source.marked):
            carets = "^" * max(min(width(source.marked), room - before), 1)
            yield f"{self._paint(f'{gutter} |', 'blue')} {' ' * before}{self._paint(carets, 'bold', style)}"

    def _remedy(self, alike: Sequence[Finding], gutter: str) -> Iterator[str]:
        """What to do about findings that are alike: the fix of those that have one, else the advice of the rule."""
        with_fix = [finding for finding in alike if is_offered(finding, owner=None)]
        finding = next(iter(with_fix), alike[0])
        fix = finding.fix
        if needs_advice(finding):
            yield from self._help(finding, gutter)
        if fix is not None and self._look.verbose:
            yield from self._whole(fix, bool(with_fix), gutter)
        elif fix is not None and with_fix:
            reason = " ".join(filter(None, (fix.reason, not_verified(fix))))
            above = self._fixes.setdefault(reason, finding.rule)
            text = reason if self._is_new(finding, reason) and above == finding.rule else f"as for {above} above"
            some = f" for {len(with_fix)} of {len(alike)}" if len(with_fix) < len(alike) else ""
            done = ", written" if fix.written else ""
            yield from self._remark(f"{label(fix)} fix{some}{done}", text, gutter)
        elif fix is not None and label(fix) == "refused":
            tried = "The setting" if sets_for_process(fix) else "A fix"
            yield from self._remark("fix", f"{tried} was tried. {fix.detail}", gutter)

    def _whole(self, fix: Fix, offered: bool, gutter: str) -> Iterator[str]:
        """All that is known of a fix, with its changes where it is ``offered``."""
        yield from self._remark("fix", f"{wording.fix_kind(fix)}. {explanation(fix)}", gutter)
        for line in changes(fix.diff) if offered else ():
            style = {"+": "green", "-": "red"}.get(line[:1], "dim")
            yield f"{gutter}     {self._paint(line, style)}"

    def _help(self, finding: Finding, gutter: str) -> Iterator[str]:
        """The advice of the rule, unless it was given before."""
        if self._is_new(finding, finding.suggestion):
            whose = f"help for {for_whom}" if (for_whom := wording.whose(finding, "its authors")) else "help"
            yield from self._remark(whose, finding.suggestion, gutter)

    def _is_new(self, finding: Finding, text: str) -> bool:
        """Whether no finding of this rule has shown ``text`` yet."""
        if (finding.rule, text) in self._explained:
            return False
        self._explained.add((finding.rule, text))
        return True

    def _remark(self, name: str, text: str, gutter: str) -> list[str]:
        """``= why: text``, wrapped and indented under its name; nothing when there is no text."""
        if not text.strip():
            return []
        marked = f"{gutter} {self._paint('=', 'blue')} {self._paint(name, 'bold')}: "
        first, *rest = hanging(text, len(gutter) + 3, self._look.width, len(f"{gutter} = {name}: "))
        return [marked + first.strip(), *(f"{gutter}   {line.strip()}" for line in rest)]


def _quotes(message: str, code: str) -> bool:
    """Whether ``message`` has ``code``, or the beginning of it, between backticks."""
    flat = one_line(code)
    quoted = [one_line(part) for part, is_code in wording.quoted(message) if is_code]
    return any(part == flat or (part.endswith("...") and flat.startswith(part[:-3])) for part in quoted)


def changes(diff: str) -> list[str]:
    """The lines of a unified diff that change, without file names and context; hunks are kept apart by "..."."""
    lines: list[str] = []
    for line in diff.splitlines()[2:]:
        if line.startswith("@@") and lines:
            lines.append("...")
        elif line.startswith(("+", "-")):
            lines.append(line)
    return lines
