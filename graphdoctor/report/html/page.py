"""The report as one HTML file: styles and scripts inside, no request to anywhere, readable without JavaScript."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from graphdoctor.diagnosis.roots import roots
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import explanation, is_offered, needs_advice
from graphdoctor.model.runs import Break, DynamicRun
from graphdoctor.report import comparison, module_tree, optional_checks, varied, wording
from graphdoctor.report.escaping import printable
from graphdoctor.report.excerpt import called_from, source_lines
from graphdoctor.report.failure import failure
from graphdoctor.report.first_actions import first_actions
from graphdoctor.report.html import source_view
from graphdoctor.report.html.diff import pieces
from graphdoctor.report.html.filters import change, groups
from graphdoctor.report.html.gaps import in_brief
from graphdoctor.report.html.overlaps import covered, overlaps
from graphdoctor.report.html.pictures.bars import of_advice
from graphdoctor.report.html.pictures.icicle import icicles
from graphdoctor.report.html.pictures.strip import Strip, strip
from graphdoctor.report.html.pictures.timeline import timelines
from graphdoctor.report.html.size_limit import Card, fit
from graphdoctor.report.measurements import advise
from graphdoctor.report.numbers import Tone, numbers
from graphdoctor.report.overview.affected import by_model, overview
from graphdoctor.report.overview.alike import code_at, together
from graphdoctor.report.proof import again, against, mends, proof, safe_fixes
from graphdoctor.report.unchecked import unchecked

#: The largest page in bytes: it opens at once, and fits into a CI artifact or a mail.
LIMIT = 1_000_000

#: The most findings of a page: as many as fit without their code.
_FINDINGS = 1000

#: Up to so many findings are printed in full.
_PRINTED_OPEN = 50

#: Entries of any other list, which most reports do not reach; fewer where the page would be too large.
_ROWS = (1000, 100, 10)

_NO_WORD = re.compile(r"[^A-Za-z0-9_-]")


def render(diagnosis: Diagnosis) -> str:
    """The whole page, at most ``LIMIT`` bytes. Jinja2 escapes every value, once; scripts and styles are ours."""
    shown = printable(diagnosis)
    order = _by_importance(shown)[:_FINDINGS]
    heads = roots(shown.findings)
    beside = overlaps(shown.findings)
    result = shown.verification
    over = covered(shown.findings, result.fixes, [d.fix for d in result.dropped]) if result is not None else {}
    like = _alike(shown, heads)
    # New findings come first, then those of one model; findings with one cause or that are alike are shown together.
    new = {like.get(heads[number], heads[number]) for number in _new(shown)}
    position = _by_model(shown)
    first = {number: like.get(heads[number], heads[number]) for number in order}
    place = {n: (first[n] not in new, position[first[n]], heads[n] != first[n], heads[n], n) for n in order}
    anchors = _anchors(shown)
    cards = {
        number: _card(shown, number, heads, anchors, beside, over, like)
        for number in sorted(order, key=place.__getitem__)
    }
    page = ""
    for rows in _ROWS:
        page = _page(shown, rows, {}, 0)
        if len(page.encode()) < LIMIT / 2:
            break
    # The second part is for the filters, whose size depends on the findings, and the sentences on what is left out.
    fitted = fit(cards, order, LIMIT - len(page.encode()) - 40_000)
    return _page(shown, rows, fitted.texts, fitted.briefs)


def _page(shown: Diagnosis, rows: int, cards: Mapping[int, str], briefs: int) -> str:
    assets = {name: asset(name) for name in ("style.css", "pictures.css", "theme.js", "report.js")}
    runs = shown.dynamic or ()
    drawn = timelines(runs)
    of_modules = wording.alike((run for run in runs if run.outcome == "ok"), _of_modules)
    return (
        environment()
        .get_template("report.html")
        .render(
            diagnosis=shown,
            rows=rows,
            cards=[Markup(card) for card in cards.values()],
            briefs=briefs,
            folded=len(cards) > _PRINTED_OPEN,
            groups=groups((shown.findings[number] for number in sorted(cards)), shown.comparison),
            assets=assets,
            policy=policy(assets["style.css"] + assets["pictures.css"], assets["theme.js"], assets["report.js"]),
            tone=_tone(shown),
            numbers=numbers(shown),
            base=_base_values(shown),
            actions=first_actions(shown),
            overview=overview(shown),
            causes_seen=_causes_seen(shown),
            anchors={id(finding): mark for finding, mark in zip(shown.findings, _anchors(shown), strict=True)},
            proof=proof(shown) or safe_fixes(shown),
            mended=bool(mends(shown)),
            offered=sum(is_offered(finding) for finding in shown.findings),
            strip=strip(shown),
            timelines=drawn,
            causes=list(wording.recompiles(runs)),
            recompiled=bool(drawn or wording.recompiles(runs) or any(run.sweeps or run.not_counted for run in runs)),
            sources=source_view.files(shown) if rows == _ROWS[0] else (),
            types={finding.function.partition(".")[0] for finding in shown.findings if "." in finding.function},
            failure=failure(shown),
            again=again(shown),
            clean_next=_next(shown),
            compile_time=wording.compile_time(runs),
            unchecked=unchecked(shown),
            gaps=in_brief(shown),
            settings=wording.settings(shown.findings),
            set_for=_set_for(shown),
            libraries=bool(shown.summary.breaks) and not shown.summary.breaks_own,
            stacks=_stacks(shown),
            run_rows=wording.alike(runs, _counted),
            model_rows=of_modules,
            least=min((same[0].compiled_share or 0.0 for same in of_modules), default=0.0),
            number_of=_number,
            parts=_parts,
        )
    )


def _card(
    shown: Diagnosis,
    number: int,
    heads: Mapping[int, int],
    anchors: Sequence[str],
    beside: Mapping[int, Sequence[int]],
    over: Mapping[int, int],
    like: Mapping[int, int],
) -> Card:
    macro: Any = environment().get_template("macros.html").module
    finding = shown.findings[number]
    head = shown.findings[heads[number]]
    same = head.fix is not None and finding.fix is not None and head.fix.diff == finding.fix.diff
    under = () if head is finding else (anchors[heads[number]], _line_of(head), same)
    # Several findings may have the same change, and a line several changes: each line is named once.
    lines = {_line_of(shown.findings[other]): anchors[other] for other in reversed(beside.get(number, ()))}
    others = [(anchor, line) for line, anchor in reversed(lines.items())]
    args = (finding, anchors[number], change(finding, shown.comparison), others)
    cover = (anchors[over[number]], _line_of(shown.findings[over[number]])) if number in over else ()
    alike = (anchors[like[number]], _line_of(shown.findings[like[number]])) if number in like else ()
    code = code_at(finding) if alike else ""
    full, brief = (str(macro.finding(*args, whole, under, cover, alike, code)) for whole in (True, False))
    return Card(full, brief)


def _alike(shown: Diagnosis, heads: Mapping[int, int]) -> dict[int, int]:
    """For each finding that says what another one says of its line, the number of that one; both are new or neither."""
    number_of, new = {id(finding): number for number, finding in enumerate(shown.findings)}, _new(shown)
    causes = [number for number in number_of.values() if heads[number] == number]
    kinds = ([shown.findings[n] for n in causes if (n in new) == is_new] for is_new in (True, False))
    groups = [[number_of[id(finding)] for finding in alike] for kind in kinds for alike in together(kind)]
    return {number: first for first, *others in groups for number in others}


def _by_model(shown: Diagnosis) -> dict[int, int]:
    """The position of each finding, by number: those of one model together where the source alone was read."""
    if not (found := overview(shown)) or not found.affected:
        return {number: number for number in range(len(shown.findings))}
    number_of = {id(finding): number for number, finding in enumerate(shown.findings)}
    ordered = (finding for _, group in by_model(shown, shown.findings) for finding in group)
    return {number_of[id(finding)]: place for place, finding in enumerate(ordered)}


def _line_of(finding: Finding) -> str:
    return f"{finding.location.path}:{finding.location.line}"


def _anchors(shown: Diagnosis) -> list[str]:
    """The fingerprints, which stay where lines move; numbered where findings share one."""
    found: list[str] = []
    met: Counter[str] = Counter()
    for finding in shown.findings:
        mark = _NO_WORD.sub("", finding.fingerprint)[:64]
        met[mark] += 1
        found.append(f"f-{mark}" + (f"-{met[mark]}" if met[mark] > 1 else ""))
    return found


def _by_importance(shown: Diagnosis) -> list[int]:
    """The findings come ranked; what is new against the base is what the reader of a comparison came for."""
    new = _new(shown)
    return sorted(range(len(shown.findings)), key=lambda number: number not in new)


def _causes_seen(shown: Diagnosis) -> list[Finding]:
    """The graph breaks that the verdict is for; of a comparison the new ones, where there are some.

    First that by which ranks differ, for they wait for each other.
    """
    uneven, new = shown.summary.uneven, _new(shown)
    met = [(n in new, f) for n, f in enumerate(shown.findings) if f.events and f.severity != "info"]
    met.sort(key=lambda entry: not uneven.startswith(f"{wording.place(entry[1].location)} "))
    return [finding for is_new, finding in met if is_new] or [finding for _, finding in met]


def _new(shown: Diagnosis) -> frozenset[int]:
    """The numbers of the findings that the base did not have."""
    marks = frozenset(shown.comparison.new if shown.comparison else ())
    return frozenset(number for number, finding in enumerate(shown.findings) if finding.fingerprint in marks)


def _base_values(shown: Diagnosis) -> dict[str, str]:
    """The numbers of the base, by label."""
    if shown.comparison is None:
        return {}
    kept = [finding for finding in shown.findings if finding.fingerprint in shown.comparison.unchanged]
    findings = (*kept, *shown.comparison.fixed)
    base = replace(shown, summary=shown.comparison.summary, dynamic=shown.comparison.dynamic, findings=findings)
    return {number.label: number.value for number in numbers(base)}


def _stacks(shown: Diagnosis) -> dict[Break, str]:
    """Each graph break once, with the runs that met it."""
    met: dict[Break, list[DynamicRun]] = {}
    for run in shown.dynamic or ():
        for entry in run.breaks:
            met.setdefault(replace(entry, events=0), []).append(run)
    return {entry: wording.run_titles(runs) for entry, runs in met.items()}


@cache
def environment() -> Environment:
    """The templates of this package, with their filters."""
    made = Environment(
        loader=PackageLoader("graphdoctor.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        prose=_prose, clause=_clause, path=_path, level=_level, numerics=wording.numerics, deeper=optional_checks.lines
    )
    made.globals.update(
        words=wording,
        compared=comparison,
        explanation=explanation,
        needs_advice=needs_advice,
        icicles=icicles,
        varied=varied,
        against=against,
        advise=advise,
        source_lines=source_lines,
        called_from=called_from,
        module_rows=module_tree.rows,
        identity=id,
        pieces=pieces,
        plots=of_advice,
    )
    return made


@cache
def asset(name: str) -> Markup:
    """A file of ``templates/`` as it stands: ours, so not to be escaped."""
    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0])


def _prose(text: str) -> Markup:
    """``text`` as ``_clause`` shows it, with a capital letter."""
    # A first word that is followed by a dot or a bracket is a name: torch.compile stays as it is.
    return _clause(re.sub(r"^[a-z](?=[a-z]*[ ,])", lambda match: match[0].upper(), text))


def _level(code: str) -> str:
    """The class of a line by its indentation, of which a narrow screen has room for three levels."""
    level = min((len(code) - len(code.lstrip()) + 3) // 4, 3)
    return f" i{level}" if level and code.strip() else ""


def _clause(text: str) -> Markup:
    """``text`` escaped, with what stands between backticks as code."""
    parts = wording.quoted(text)
    return Markup().join(_code(part) if is_code else _plain(part) for part, is_code in parts)


def _plain(text: str) -> Markup:
    """``text`` escaped; long paths in it may be broken after their slashes."""
    return Markup().join(_path(part) if part.count("/") > 1 else part for part in re.split(r"(\s+)", text))


def _path(text: str) -> Markup:
    """A path that may be broken after its slashes only."""
    return Markup("/<wbr>").join(text.split("/"))


def _code(text: str) -> Markup:
    # An option is not broken at its hyphens.
    return Markup('<code class="option">{}</code>' if text.startswith("--") else "<code>{}</code>").format(text)


def policy(style: Markup, *scripts: Markup) -> str:
    """A content security policy that lets in these scripts and styles, by their hashes, and nothing else."""
    allowed = " ".join(_digest(script) for script in scripts)
    return f"default-src 'none'; style-src {_digest(style)}; script-src {allowed}; img-src data:; base-uri 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _next(shown: Diagnosis) -> str:
    """The next command to run where nothing is to be fixed; empty where ``bench`` does not take what was scanned."""
    paths = [file.path for file in shown.files]
    # A target by name lies in a file that cannot be run by itself.
    named = ":" in "".join(shown.command.split()[2:3])
    return shlex.join(["graphdoctor", "bench", *paths]) if len(paths) == 1 and not named else ""


def _counted(run: DynamicRun) -> tuple[object, ...]:
    """The cells of ``run`` in the table of runs."""
    fullgraph = wording.fullgraph(run.fullgraph)
    return run.outcome, run.detail, run.graphs, len(run.breaks), run.compiled_share, fullgraph


def _of_modules(run: DynamicRun) -> tuple[object, ...]:
    """The cells of ``run`` in the table of submodules."""
    return run.compiled_share, run.modules


def _parts(same: Sequence[DynamicRun]) -> list[str]:
    """The facts about the parts of a model from runs that the section on modules shows together."""
    return list(dict.fromkeys(line for run in same for line in optional_checks.lines(run, first=False)))


def _set_for(shown: Diagnosis) -> tuple[int, int]:
    """For how many of the findings that broke in libraries a setting is suggested, and how many there are."""
    broke = [finding for finding in shown.findings if finding.events and finding.owner != "own"]
    return sum(map(wording.sets_dynamo, broke)), len(broke)


def _number(drawn: Strip, finding: Finding | None) -> str:
    """The number of the break in the picture that ``finding`` is about; empty where there is none."""
    return next((str(cut.number) for cut in drawn.cuts if finding is not None and cut.finding is finding), "")


def _tone(diagnosis: Diagnosis) -> Tone:
    summary = diagnosis.summary
    if summary.verdict == "ready":
        return "good"
    # What breaks in libraries only fails no gate either.
    mild = summary.verdict in ("static-only", "not-run") or (summary.breaks and not summary.breaks_own)
    return "neutral" if mild and not summary.errors else "bad"
