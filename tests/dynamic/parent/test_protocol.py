import json
from pathlib import Path

import pytest

from graphdoctor.dynamic.parent.protocol import (
    MESSAGES,
    BadMessage,
    Ended,
    Failed,
    RunRequest,
    dump_request,
    dump_run,
    load_request,
    load_run,
    message,
)
from graphdoctor.model.audit import Audit, Audited, Deviation
from graphdoctor.model.export import Exported
from graphdoctor.model.runs import (
    Break,
    DeviceChecks,
    DynamicRun,
    Explain,
    Frame,
    FullGraph,
    Hint,
    Ladder,
    Numerics,
    Recompile,
    Stage,
    Sweep,
    Training,
    TriedRemedy,
)
from graphdoctor.model.submodules import Blocks, ModuleNode, ModuleVerdict, Readiness


def test_a_run_survives_the_way_through_json() -> None:
    run = DynamicRun(
        target="Net",
        mode="train",
        device="cpu",
        outcome="ok",
        breaks=(Break("m.py", 1, None, "f", "GB0059", "t", "r", hints=("h",), stack=(Frame("m.py", 1, "f"),)),),
        fullgraph=FullGraph(False, "error", "m.py", 1),
        explain=Explain(1, 0, 0, "differs"),
        recompiles=(Recompile("c", "g", "x", 0, "m.py", 1, 2, tried=(TriedRemedy("r", None, "raises"),)),),
        sweeps=(Sweep("x:0=4,5", False, 2, 2),),
        numerics=Numerics(True, 0.0, "t"),
        executed={"m.py": frozenset({1, 2})},
    )
    assert load_run(json.loads(json.dumps(dump_run(run)))) == run


def test_an_empty_run_survives() -> None:
    run = DynamicRun("Net", "eval", "cpu", "timeout", "no result")
    assert load_run(json.loads(json.dumps(dump_run(run)))) == run


def test_a_request_survives_with_absolute_paths(tmp_path: Path) -> None:
    request = RunRequest(
        tmp_path / "m.py",
        tmp_path,
        inputs=("3",),
        overlay={"/a": "b"},
        reference=tmp_path,
        watch=("/a",),
        vary=("x:0=4,5",),
    )
    assert load_request(dump_request(request)) == request
    assert load_request(dump_request(RunRequest(Path("m.py"), Path(".")))).file.is_absolute()


def test_what_is_known_of_parts_and_layers_survives() -> None:
    verdict = ModuleVerdict("block", "Block", 3, False, "error", "m.py", 1)
    run = DynamicRun(
        target="Net",
        mode="train",
        device="cpu",
        outcome="ok",
        breaks=(Break("m.py", 1, None, "f", None, None, "r", phase="backward"),),
        numerics=Numerics(False, 1.0, "t", mutated=("input[0]",), diverges="block"),
        modules=(ModuleNode("", "Net", "partly", 4, 0.5, 1, 1),),
        blocks=(Blocks("Block", ("a", "b"), 1, alone=2, alone_at_limit=False),),
        readiness=Readiness((), (verdict,), 1),
        ladder=Ladder((Stage("eager", "failed", "Dynamo", "d", "m.py", 1),), "script"),
        audit=Audit((Audited("eager", "differs", "Dynamo", (Deviation("state", "d"),)),), "block"),
        export=(Exported(False, "failed", error="e", path="m.py", line=1, rule="GD201"),),
        training=Training("sgd", True, {"forward": 1}, Numerics(True, 0.0, "t")),
        device_checks=DeviceChecks(1, 2, hints=(Hint("text", "action"),), unchecked=("CUDA graphs",)),
    )
    assert load_run(json.loads(json.dumps(dump_run(run)))) == run


def test_messages_of_a_worker() -> None:
    assert message(b'{"kind": "end"}', MESSAGES) == Ended()
    assert message(b'{"kind": "failed", "outcome": "raised", "detail": "d"}', MESSAGES) == Failed("raised", "d")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"9" * 10_000, "is not JSON"),
        (b"null", "is no message"),
        (b"[1]", "is no message"),
        (b"{}", "is no message"),
        (b'{"kind": []}', "is no message"),
        (b'{"kind": "gone", "code": 0}', "is no message"),
        (b'{"kind": "progress", "text": 1}', "text must be a text"),
        (b'{"kind": "failed", "outcome": "fine", "detail": ""}', "outcome must be one of"),
        (b'{"kind": "run", "run": {}, "complete": true}', "run.target is missing"),
        (b'{"kind": "environment", "environment": {"a": []}}', "environment.a must be a text"),
    ],
)
def test_what_is_none_is_refused(line: bytes, reason: str) -> None:
    with pytest.raises(BadMessage, match=reason) as error:
        message(line, MESSAGES)
    assert len(str(error.value)) < 300
