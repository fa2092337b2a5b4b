"""The forward pass as a strip: graphs, cut by graph breaks, in the order of execution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Literal

from graphdoctor.diagnosis.unexpected import inside
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.runs import Break, DynamicRun, Piece
from graphdoctor.report.proof import helps
from graphdoctor.report.wording import alike, fixes, named, place, plural, run_title, share

#: Widths of the drawing, for wide and for narrow screens, in CSS pixels.
WIDTHS = (1000, 340)
#: Height of a row, and the top of its boxes; the numbers of the breaks stand above them.
ROW, TOP, BOX = 74, 26, 40
_CUT, _GAP = 22, 3
#: Graphs and cuts of a lane that are drawn.
_MOST = 40

Kind = Literal["graph", "eager", "cut", "more"]


@dataclass(frozen=True)
class Shape:
    """A box or a cut at its place in the drawing; ``text`` stands in the box, or above the cut."""

    kind: Kind
    x: float
    y: float
    width: float
    text: str


@dataclass(frozen=True)
class Drawing:
    """The shapes of a lane for one width of the screen."""

    width: int
    height: float
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Lane:
    """The graphs of one run. ``description`` says in words what ``drawings`` show."""

    title: str
    description: str
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True)
class Cut:
    """A break by its number in the picture: the code, its place, and its finding."""

    number: int
    text: str
    place: str
    finding: Finding | None


@dataclass(frozen=True)
class Strip:
    """Lanes on top of each other, and the breaks that cut them. ``rest`` counts the breaks that are not listed."""

    lanes: tuple[Lane, ...]
    cuts: tuple[Cut, ...]
    rest: int = 0
    #: Whether two graphs stand side by side without a break.
    returns: bool = False
    #: Whether a break cuts more than once.
    repeats: bool = False
    #: Whether it is known between which graphs each break lies.
    ordered: bool = True


def strip(diagnosis: Diagnosis, most: int = 12) -> Strip | None:
    """The runs that finished, those that did the same in one lane, and then the code with the fixes applied.

    None where nothing ran to the end. The first ``most`` breaks are listed.
    """
    ran = [run for run in diagnosis.dynamic or () if run.outcome == "ok"]
    if not ran:
        return None
    sites = _sites(ran)
    numbers = {_place(entry): number for number, entry in enumerate(sites, 1)}
    lanes = [_lane(same, numbers) for same in alike(ran, _drawn)]
    after = diagnosis.verification
    if after is not None and helps(diagnosis):
        lanes.append(_fixed(fixes(after.fixes, diagnosis.findings), after.graphs, after.breaks, after.fullgraph_passes))
    cuts = tuple(_cut(number, entry, diagnosis.findings) for number, entry in enumerate(sites[:most], 1))
    beside = any(one.break_at is None and other.break_at is None for run in ran for one, other in pairwise(run.pieces))
    ordered = all(run.pieces or not run.graphs or not run.breaks for run in ran)
    repeats = any(_repeats(run) for run in ran)
    return Strip(tuple(lanes), cuts, max(len(sites) - most, 0), beside, repeats, ordered)


def _place(entry: Break) -> tuple[object, ...]:
    """What distinguishes one break from another: one line may have several, of its own or inside a library."""
    inner = entry.stack[-1] if entry.stack and entry.owner != "own" else None
    return entry.path, entry.line, entry.column, entry.gb_id, inner


def _sites(runs: Sequence[DynamicRun]) -> list[Break]:
    """The breaks of all runs, each once, in the order of execution where it is known."""
    found: dict[tuple[object, ...], Break] = {}
    for run in runs:
        met = [run.breaks[piece.break_at] for piece in run.pieces if _is_cut(piece, run)]  # type: ignore[index]
        for entry in (*met, *run.breaks):
            found.setdefault(_place(entry), entry)
    return list(found.values())


def _is_cut(piece: Piece, run: DynamicRun) -> bool:
    return piece.break_at is not None and 0 <= piece.break_at < len(run.breaks)


def _repeats(run: DynamicRun) -> bool:
    """Whether a break has graphs on both sides of two of its cuts."""
    cuts = [
        text for kind, text, _ in _items(run, {_place(entry): n for n, entry in enumerate(run.breaks)}) if kind == "cut"
    ]
    return len(set(cuts)) < len(cuts)


def _drawn(run: DynamicRun) -> tuple[object, ...]:
    """What the picture shows of ``run``."""
    return run.graphs, run.pieces, tuple(_place(entry) for entry in run.breaks), share(run.compiled_share)


def _lane(same: Sequence[DynamicRun], numbers: dict[tuple[object, ...], int]) -> Lane:
    run = same[0]
    items = list(_items(run, numbers))
    counts = f"{plural(run.graphs, 'graph')}, {plural(len(run.breaks), 'graph break')}"
    if run.compiled_share is not None:
        counts += f", {share(run.compiled_share)} of the operators compiled"
    title = f"{run_title(run, modes=[each.mode for each in same])}: {counts}"
    names = {"cut": "break ", "graph": "graph "}
    order = ", ".join(names.get(kind, "") + text for kind, text, _ in items)
    ordered = run.pieces and not any(kind == "eager" for kind, _, _ in items)
    start = "In the order of execution" if ordered else "Drawn"
    return Lane(title, f"{title}. {start}: {order}", tuple(_drawing(items, w) for w in WIDTHS))


#: What is drawn: kind, text, and the operators that the width shows.
_Item = tuple[Kind, str, int]


def _items(run: DynamicRun, numbers: dict[tuple[object, ...], int]) -> Iterator[_Item]:
    if not run.graphs:
        yield from (("cut", str(numbers[_place(entry)]), 0) for entry in run.breaks[:_MOST])
        yield ("eager", "nothing is compiled: all of it runs in eager", 0)
        return
    graph, shown = 0, 0
    #: The breaks drawn since the last graph: a break deep inside cuts each of its callers.
    drawn: set[str] = set()
    #: The functions that are said to run in eager. Once is enough: many blocks share one, and its break is numbered.
    eager_ones: set[str] = set()
    for piece in run.pieces or (Piece(operators=0),) * run.graphs:
        if shown == _MOST:
            yield ("more", f"{run.graphs - graph} more", 0)
            return
        if _is_cut(piece, run):
            entry = run.breaks[piece.break_at]  # type: ignore[index]
            number = str(numbers[_place(entry)])
            if number not in drawn:
                shown += 1
                yield ("cut", number, 0)
                drawn.add(number)
            if piece.dropped and piece.dropped not in eager_ones:
                eager_ones.add(piece.dropped)
                calls = "; what it calls is traced by itself" if graph < run.graphs else ""
                yield ("eager", f"{piece.dropped} runs in eager{calls}", 0)
        else:
            graph, shown = graph + 1, shown + 1
            drawn.clear()
            yield ("graph", str(graph), piece.operators or 0)


def _fixed(applied: str, graphs: int, breaks: int, fullgraph: bool | None) -> Lane:
    passes = {True: ", fullgraph=True passes", False: ", fullgraph=True fails", None: ""}[fullgraph]
    counts = f"{plural(graphs, 'graph')}, {plural(breaks, 'graph break')}{passes}"
    title = f"With {applied} applied to a copy: {counts}{'; the breaks that are left are not drawn' if breaks else ''}"
    items: list[_Item] = [("graph", str(number), 0) for number in range(1, min(graphs, _MOST) + 1)]
    if not graphs:
        items = [("eager", "nothing is compiled: all of it runs in eager", 0)]
    return Lane(title, title, tuple(_drawing(items, width) for width in WIDTHS))


def _drawing(items: Sequence[_Item], width: int) -> Drawing:
    """The items from left to right in rows; one row is stretched to the whole width."""
    sizes = [_size(item, width) for item in items]
    # Without a number above them the boxes need no room for it.
    top = TOP if any(kind == "cut" for kind, _, _ in items) else 2
    height = ROW - TOP + top
    rows: list[list[int]] = [[]]
    used = 0.0
    for number, size in enumerate(sizes):
        if used + size > width and rows[-1]:
            rows.append([])
            used = 0.0
        rows[-1].append(number)
        used += size
    shapes: list[Shape] = []
    for level, row in enumerate(rows):
        fixed = sum(sizes[n] for n in row if items[n][0] == "cut")
        stretched = sum(sizes[n] for n in row if items[n][0] != "cut")
        factor = (width - fixed) / stretched if len(rows) == 1 and stretched else 1.0
        x = 0.0
        for number in row:
            kind, text, _ = items[number]
            size = sizes[number] if kind == "cut" else sizes[number] * factor
            gap = 0 if kind == "cut" else _GAP
            shapes.append(Shape(kind, round(x + gap / 2, 1), level * height + top, round(size - gap, 1), text))
            x += size
    return Drawing(width, len(rows) * height - (ROW - TOP - BOX) + 2, tuple(shapes))


def _size(item: _Item, width: int) -> float:
    kind, _, operators = item
    if kind == "cut":
        return _CUT
    if kind == "eager":
        # A row of its own: it runs around the graphs that follow, not before them.
        return width - _CUT
    return 60 if kind == "more" else 26 + 9 * sqrt(operators)


def _cut(number: int, entry: Break, findings: Sequence[Finding]) -> Cut:
    finding = _finding(entry, findings)
    text = (named(finding) or finding.message) if finding is not None else entry.reason
    return Cut(number, text, place(finding.location if finding is not None else entry), finding)


def _finding(entry: Break, findings: Sequence[Finding]) -> Finding | None:
    inner = [(f.path, f.line) for f in entry.stack[-1:] if entry.owner != "own"]
    places = [(entry.path, entry.line), *inner]
    here = [
        f
        for f in findings
        if f.events and any(f.location.path == p and f.location.line <= n <= f.location.end_line for p, n in places)
    ]
    within = inside(entry)
    return min(
        here,
        key=lambda f: (
            within not in f.message and (f.location.path, f.location.line) not in inner,
            f.location.column != entry.column,
            f.location.line != entry.line,
            entry.gb_id not in f.gb_ids,
        ),
        default=None,
    )
