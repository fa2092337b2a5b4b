from pathlib import Path

from benchmarks.accuracy.score import FULLGRAPH, score
from benchmarks.accuracy.statements import statement_at
from graphdoctor.model.findings import Finding, Location
from graphdoctor.model.runs import Break, DynamicRun, FullGraph

SOURCE = """def forward(x):
    a = helper(x)
    if x.sum(
    ) > 0:
        a = a + 1
    b = a.item()
    return b
"""


def source(folder: Path) -> str:
    file = folder / "net.py"
    file.write_text(SOURCE)
    return str(file)


def finding(path: str, line: int, rule: str = "GD201") -> Finding:
    place = Location(path, line, 1, line, 40)
    return Finding(rule, "r", "error", "certain", place, "forward", "", "", "", gb_ids=("GB0170",))


def run(path: str, breaks: dict[int, str], graphs: int = 2, failed: int | None = None) -> DynamicRun:
    return DynamicRun(
        target="Net",
        mode="eval",
        device="cpu",
        outcome="ok",
        graphs=graphs,
        breaks=tuple(Break(path, line, 5, "forward", gb_id, "t", "r") for line, gb_id in breaks.items()),
        fullgraph=FullGraph(failed is None, path=path, line=failed),
        executed={path: frozenset(range(1, 8))},
    )


def test_the_header_of_a_compound_statement_is_one_statement(tmp_path: Path) -> None:
    path = source(tmp_path)
    assert statement_at(path, 4) == statement_at(path, 3) == (path, 3, 4)
    assert statement_at(path, 5) == (path, 5, 5)
    assert statement_at(path, 99) == (path, 99, 99)


def test_predicted_missed_and_false_alarm(tmp_path: Path) -> None:
    path = source(tmp_path)
    models = {"Net": [run(path, {4: "GB0170", 6: "GB0124"})]}
    counted = score([finding(path, 3), finding(path, 2, "GD101")], models, [path])
    assert counted.predicted == {statement_at(path, 3)}
    assert counted.missed == {statement_at(path, 6)}
    assert counted.by_cause() == {"GB0124": (1, 0), "GB0170": (1, 1)}
    assert counted.by_rule() == {"GD101": (1, 0), "GD201": (1, 1)}
    assert (counted.recall, counted.precision) == (0.5, 0.5)


def test_a_line_that_did_not_run_counts_neither_way(tmp_path: Path) -> None:
    path = source(tmp_path)
    counted = score([finding(path, 30)], {"Net": [run(path, {4: "GB0170"})]}, [path])
    assert counted.refuted == {}
    assert counted.precision is None


def test_what_breaks_only_behind_a_break_and_runs_elsewhere_is_its_consequence(tmp_path: Path) -> None:
    path = source(tmp_path)
    broken, whole = run(path, {4: "GB0170", 6: "GB0088"}), run(path, {}, graphs=1)
    assert set(score([], {"A": [broken]}, [path]).broken) == {statement_at(path, 3), statement_at(path, 6)}
    assert set(score([], {"A": [broken], "B": [whole]}, [path]).broken) == {statement_at(path, 3)}


def test_a_place_that_only_fullgraph_reports_is_counted(tmp_path: Path) -> None:
    path = source(tmp_path)
    counted = score([], {"Net": [run(path, {}, failed=6)]}, [path])
    assert counted.by_cause() == {FULLGRAPH: (1, 0)}
