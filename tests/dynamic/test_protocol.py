import json
from pathlib import Path

from graphdoctor.dynamic.protocol import RunRequest, dump_request, dump_run, load_request, load_run
from graphdoctor.model import Break, DynamicRun, Explain, Frame, FullGraph, Numerics, Recompile


def test_a_run_survives_the_way_through_json() -> None:
    run = DynamicRun(
        target="Net",
        mode="train",
        device="cpu",
        outcome="ok",
        breaks=(Break("m.py", 1, None, "f", "GB0059", "t", "r", hints=("h",), stack=(Frame("m.py", 1, "f"),)),),
        fullgraph=FullGraph(False, "error", "m.py", 1),
        explain=Explain(1, 0, 0, "differs"),
        recompiles=(Recompile("c", "g", "x", 0, "m.py", 1, 2),),
        numerics=Numerics(True, 0.0, "t"),
        executed={"m.py": frozenset({1, 2})},
    )
    assert load_run(json.loads(json.dumps(dump_run(run)))) == run


def test_an_empty_run_survives() -> None:
    run = DynamicRun("Net", "eval", "cpu", "timeout", "no result")
    assert load_run(json.loads(json.dumps(dump_run(run)))) == run


def test_a_request_survives_with_absolute_paths(tmp_path: Path) -> None:
    request = RunRequest(
        tmp_path / "m.py", tmp_path, inputs=("3",), overlay={"/a": "b"}, reference=tmp_path, watch=("/a",)
    )
    assert load_request(dump_request(request)) == request
    assert load_request(dump_request(RunRequest(Path("m.py"), Path(".")))).file.is_absolute()
