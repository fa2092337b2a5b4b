"""From files made by hand to the diagnosis."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.trace import process
from graphdoctor.trace.diagnose import diagnose
from graphdoctor.trace.files import NoTrace

if TYPE_CHECKING:
    from conftest import Traces

NET = "/job/net.py"


def noted(diagnosis: Diagnosis, word: str) -> str:
    [note] = [note for note in diagnosis.notes if word in note]
    return note


def test_equal_ranks_are_one_run_and_their_events_add_up(traces: Traces) -> None:
    for rank in (0, 1, 2):
        traces.write(rank, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5), traces.graph_break(NET, 5))
    traces.write(3, traces.start(0, 0, NET, 3), traces.graph_break(NET, 9))
    diagnosis = diagnose(traces.folder)
    assert [run.target for run in diagnosis.dynamic or ()] == ["ranks 0-2", "rank 3"]
    found = {finding.location.line: finding for finding in diagnosis.findings}
    assert (found[5].events, found[9].events) == (6, 1)
    assert found[5].message.endswith("(on ranks 0-2 only)")
    assert found[9].message.endswith("(on rank 3 only)")


def test_processes_that_are_no_ranks_need_not_do_the_same(traces: Traces) -> None:
    """Those of one program: one trains, others load its data."""
    traces.write(None, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5), number=1)
    traces.write(None, traces.start(0, 0, NET, 3), number=2)
    diagnosis = diagnose(traces.folder)
    assert not any(note.startswith("ranks differ") for note in diagnosis.notes)
    assert "only)" not in diagnosis.findings[0].message


def test_the_rank_comes_from_the_records_where_the_name_has_none(traces: Traces) -> None:
    """A process that compiles before init_process_group() has a file without a rank."""
    traces.write(None, traces.start(0, 0, NET, 3), number=1)
    late = traces.start(0, 0, NET, 3).replace(b'"frame_id"', b'"rank": 5, "frame_id"')
    traces.write(None, late, number=2)
    assert diagnose(traces.folder).environment["ranks"] == "rank 5, process 1"


def test_two_processes_of_one_rank_are_kept_apart(traces: Traces) -> None:
    """torchrun starts a rank again after a failure."""
    for number in (1, 2):
        traces.write(0, traces.start(0, 0, NET, 3), *[traces.graph_break(NET, 5)] * number, number=number)
    runs = diagnose(traces.folder).dynamic or ()
    assert [run.target for run in runs] == ["rank 0 (process 1)", "rank 0 (process 2)"]


def test_what_could_not_be_read_is_told(traces: Traces) -> None:
    traces.write(
        0, traces.start(0, 0, NET, 3), b"garbage\n", traces.record("sparkles"), traces.graph_break(NET, 5)[:-40]
    )
    whole = gzip.compress(traces.start(0, 0, NET, 3) * 2000)
    (traces.folder / "dedicated_log_torch_trace_rank_1_x.log.gz").write_bytes(whole[: len(whole) // 2])
    traces.write(2)
    diagnosis = diagnose(traces.folder)
    assert noted(diagnosis, "malformed").startswith("dedicated_log_torch_trace_rank_0_abc0.log: 1 malformed record")
    assert "sparkles (1)" in noted(diagnosis, "unknown kind")
    assert "killed" in noted(diagnosis, "ends inside a record")
    assert "end-of-stream" in noted(diagnosis, "could be read up to")
    assert [(file.status, file.reason) for file in diagnosis.files] == [
        ("scanned", None),
        ("scanned", None),
        ("failed", "it is empty"),
    ]


def test_records_of_another_shape_are_counted(traces: Traces) -> None:
    traces.write(
        0,
        traces.start(0, 0, NET, 3),
        traces.record("str", "no list"),
        traces.record("dynamo_start", {"stack": "none"}),
        traces.record("compilation_metrics", {"entire_frame_compile_time_s": "long"}),
        traces.artifact("torch_version", "{}"),
    )
    assert "4 malformed records" in noted(diagnose(traces.folder), "malformed")


@pytest.mark.parametrize("content", [b"", b"not a trace\n", b"\x00\xff" * 1000])
def test_files_without_a_record_are_no_trace(traces: Traces, content: bytes) -> None:
    traces.write(0, content)
    with pytest.raises(NoTrace, match="no record can be read"):
        diagnose(traces.folder)


def test_a_line_is_shown_from_the_trace_where_the_file_is_not_here(traces: Traces) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5, "print(x, y)"))
    (finding,) = diagnose(traces.folder).findings
    assert (finding.location.path, finding.snippet, finding.snippet_start) == (NET, ("print(x, y)",), 5)


def test_a_file_that_changed_since_is_not_shown(traces: Traces, tmp_path: Path) -> None:
    for text, shown in (("def f(x):\n    print(x)\n", 3), ("import os\ndef f(x):\n    return x\n", 1)):
        net = tmp_path / "net.py"
        net.write_text(text)
        traces.write(0, traces.start(0, 0, str(net), 1, "f"), traces.graph_break(str(net), 2, name="f"))
        (finding,) = diagnose(traces.folder).findings
        assert len(finding.snippet) == shown


def test_whose_code_it_is_shows_from_the_path(traces: Traces) -> None:
    library = "/opt/env/lib/python3.12/site-packages/transformers/modeling_utils.py"
    traces.write(0, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5), traces.graph_break(library, 7))
    assert {f.location.path: f.owner for f in diagnose(traces.folder).findings} == {NET: "own", library: "third-party"}


def test_the_recompile_limit_shows(traces: Traces) -> None:
    """Reasons are recorded for the compilation that Dynamo refuses, and no start."""
    reason = "0/{}: tensor 'x' size mismatch at index 0. expected {}, actual {}"
    again = [
        traces.artifact("recompile_reasons", reason.format(n - 1, n, n + 1), 0, n)
        + (traces.start(0, n, NET, 3) if n < 3 else b"")
        for n in (1, 2, 3)
    ]
    traces.write(0, traces.start(0, 0, NET, 3), *again)
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert (found.input, found.dimension, found.compilations, found.line) == ("x", 0, 3, 3)
    assert found.at_limit


def test_a_cause_is_told_at_the_users_function_and_not_at_the_wrapper_of_torch(traces: Traces) -> None:
    wrapper = "/opt/env/lib/python3.12/site-packages/torch/_dynamo/external_utils.py"
    reason = "{}/0: tensor '{}' size mismatch at index 0. expected 8, actual 6"
    traces.write(
        0,
        traces.start(0, 0, wrapper, 67, "inner") + traces.start(1, 0, NET, 3),
        traces.artifact("recompile_reasons", reason.format(0, "args[0]"), 0, 1)
        + traces.start(0, 1, wrapper, 67, "inner"),
        traces.artifact("recompile_reasons", reason.format(1, "x"), 1, 1) + traces.start(1, 1, NET, 3),
    )
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert (found.path, found.input) == (NET, "x")


def _recompiled(traces: Traces, attempt: int, reason: str, *code: Any, frame: int = 0) -> bytes:
    again = traces.artifact("recompile_reasons", f"{frame}/{attempt - 1}: {reason}", frame, attempt)
    return again + traces.start(frame, attempt, *code)


@pytest.mark.parametrize("broken", [True, False])
def test_causes_in_a_library_function_that_a_break_left_alone_are_one(traces: Traces, broken: bool) -> None:
    rearrange = ("/opt/env/lib/python3.12/site-packages/einops/einops.py", 561, "rearrange")
    traces.write(
        0,
        traces.start(0, 0, NET, 3) + (traces.graph_break(NET, 5) if broken else b""),
        traces.start(1, 0, *rearrange),
        _recompiled(traces, 1, "tensor 't' rank mismatch. expected 1, actual 2", *rearrange, frame=1),
        _recompiled(traces, 2, "L['pattern'] == 'n -> 1 n'", *rearrange, frame=1),
    )
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    if broken:
        (one,) = found
        assert one.cause == (
            "the calls of rearrange differ: the rank of t changed: expected 1, actual 2; pattern is no longer 'n -> 1 n'"
        )
        assert (one.line, one.remedy and one.remedy.partition(":")[0]) == (
            561,
            "remove the graph breaks of what calls it",
        )
    else:
        assert [one.kind for one in found] == ["rank", "value"]
        assert found[1].remedy == "one compilation for each value is the least: the code decides by it"


@pytest.mark.parametrize(
    ("guard", "advice"),
    [
        ("L['n'] == 8", "a number that changes is dynamic from its second value on"),
        ("L['func'].nfe == 8", "keep the number in a tensor"),
        ("L['self'].seen == 8", "keep the number in a tensor buffer, or set torch._dynamo.config.allow_unspec_int"),
        ("expected type of 'y' to be a tensor type, ' but found <class 'NoneType'>", "pass a neutral tensor"),
        ("expected type of 'y' to be a tensor type, ' but found <class 'float'>", "pass values of one type"),
        ("Cache line invalidated because L['___stack0'] got deallocated", "remove the graph break that left it"),
        ("___check_obj_id(___stack0, 1398), type=<class 'builtin_function_or_method'>", "remove the graph break"),
        ("L['flag'] == False", "one compilation for each value is the least"),
        ("len(G['__import_einops_dot__backends'].found) == 1", "fill it before the first call"),
        ("not L['self'].features", "fill it before the first call"),
        ("tensor 'x' size mismatch at index 1. expected 5, actual 1", "sizes 0 and 1 are always compiled separately"),
        ("tensor 'x' size mismatch at index 0. expected 1, actual 8", "sizes 0 and 1 are always compiled separately"),
        ("tensor 'x' size mismatch at index 0. expected 16, actual 4", "torch.compile(dynamic=True)"),
    ],
)
def test_advice_fits_what_the_guard_looked_at(traces: Traces, guard: str, advice: str) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), _recompiled(traces, 1, guard, NET, 3))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy is not None and found.remedy.startswith(advice)


def test_the_setting_for_ints_is_not_named_for_a_float(traces: Traces) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), _recompiled(traces, 1, "L['self'].peak == 0.5", NET, 3))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy == "keep the number in a tensor buffer"


def test_a_list_that_grows_in_each_call_is_not_to_be_filled_before_the_first(traces: Traces) -> None:
    guard = "len(G['__import_pkg_dot_metrics'].history['norm']) == {}"
    again = [_recompiled(traces, n, guard.format(n), NET, 3) for n in (1, 2)]
    traces.write(0, traces.start(0, 0, NET, 3), *again)
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy == "let nothing grow in compiled code: return the value, and append it in the calling code"


@pytest.mark.parametrize(
    ("refused", "advice"),
    [
        ((("x", 1, 16), ("x", 1, 8)), "torch.compile(dynamic=True) where dynamic=False is set"),
        ((("x", 1, 16), ("x", 0, 8)), "torch.compile(dynamic=True)"),
        ((("x", 1, 16), ("y", 1, 8)), "torch.compile(dynamic=True)"),
        ((("x", 1, 16), ("x", 1, 16)), "torch.compile(dynamic=True)"),
        ((("x", 1, 16), ("x", 1, 1)), "torch.compile(dynamic=True)"),
    ],
)
def test_a_size_that_two_compilations_hold_for_is_not_to_be_made_dynamic(
    traces: Traces, refused: tuple[tuple[str, int, int], ...], advice: str
) -> None:
    reasons = [
        f"0/{len(refused) - n}: tensor '{name}' size mismatch at index {dimension}. expected {size}, actual 24"
        for n, (name, dimension, size) in enumerate(refused, start=1)
    ]
    again = traces.artifact("recompile_reasons", json.dumps(reasons), 0, 2) + traces.start(0, 2, NET, 3)
    traces.write(0, traces.start(0, 0, NET, 3) + traces.start(0, 1, NET, 3) + again)
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy is not None and re.split("[,;]", found.remedy)[0] == advice


def test_each_cause_counts_its_own_compilations(traces: Traces) -> None:
    counted = [_recompiled(traces, n, f"L['self'].step == {n - 1}", NET, 3) for n in (1, 2, 3)]
    mode = _recompiled(traces, 4, "GLOBAL_STATE changed: grad_mode ", NET, 3)
    traces.write(0, traces.start(0, 0, NET, 3), *counted, mode)
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert [(one.kind, one.compilations, one.caused) for one in found] == [("attribute", 5, 3), ("state", 5, 1)]


def test_what_changes_back_and_forth_is_not_the_cause_where_a_counter_is(traces: Traces) -> None:
    """The discriminator of a GAN: every second call has a gradient, and each call finds a longer list."""
    grows, grad = "len(L['self'].seen) == {}", "tensor 'x' requires_grad mismatch. expected requires_grad={}"
    reasons = (
        [grows.format(0)],
        [grad.format(0), grad.format(0)],
        [grad.format(1), grows.format(1), grows.format(0)],
        [grad.format(0), grows.format(2), grad.format(0), grad.format(0)],
    )
    again = [
        traces.artifact("recompile_reasons", json.dumps(entry), 0, n) + traces.start(0, n, NET, 3)
        for n, entry in enumerate(reasons, start=1)
    ]
    traces.write(0, traces.start(0, 0, NET, 3), *again)
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert [(one.kind, one.caused) for one in found] == [("length", 3), ("requires_grad", 1)]


def test_a_number_that_was_compiled_again_once_is_dynamic_whatever_else_made_compilations(traces: Traces) -> None:
    again = _recompiled(traces, 1, "L['n'] == 8", NET, 3) + _recompiled(
        traces, 2, "GLOBAL_STATE changed: grad_mode", NET, 3
    )
    traces.write(0, traces.start(0, 0, NET, 3), again)
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert [(one.kind, one.compilations, one.caused) for one in found] == [("value", 3, 1), ("state", 3, 1)]
    assert found[0].remedy is not None and found[0].remedy.startswith("a number that changes is dynamic")


@pytest.mark.parametrize(
    ("line", "reason", "advice"),
    [
        (66, "tensor 'x' requires_grad mismatch. expected requires_grad=0", f"remove the graph break at {NET}:42: "),
        (67, "tensor 'x' requires_grad mismatch. expected requires_grad=0", "pass tensors that agree"),
        (66, "L['net']._parameters['bias'] is L['weights']['bias']", f"remove the graph break at {NET}:42: "),
        (67, "L['net']._parameters['bias'] is L['weights']['bias']", ""),
    ],
)
def test_what_is_compiled_alone_behind_a_break_differs_from_call_to_call(
    traces: Traces, line: int, reason: str, advice: str
) -> None:
    """The layers of a loop: the first gets an input, the second an activation, which requires a gradient."""
    caller, layer = (NET, 66, "forward"), (NET, 39, "forward")
    broken = traces.graph_break(NET, 42).replace(
        f'  File "{NET}", line 42'.encode(), f'  File "{NET}", line 66, in forward\n\t  File "{NET}", line 42'.encode()
    )
    inner = traces.start(1, 0, *layer, callers=((line, "forward"),))
    again = traces.artifact("recompile_reasons", f"1/0: {reason}", 1, 1)
    traces.write(0, traces.start(0, 0, *caller) + broken + inner + again, traces.start(1, 1, *layer))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert (found.remedy or "").startswith(advice) and bool(found.remedy) is bool(advice)


def test_the_function_given_up_is_the_compiled_one_and_not_a_caller_that_the_stack_begins_with(traces: Traces) -> None:
    """torch 2.13 writes the whole stack of a break, from the script's first line on."""
    skipped = "Failed to handle graph break gracefully. Skipping the function and falling back to eager."
    broken = traces.graph_break(NET, 42, reason=skipped)
    stack = f'  File "{NET}", line 90, in <module>\n\t  File "{NET}", line 66, in main\n\t  File "{NET}", line 42'
    broken = broken.replace(f'  File "{NET}", line 42'.encode(), stack.encode())
    traces.write(0, traces.start(0, 0, NET, 39, callers=((90, "<module>"), (66, "main"))) + broken)
    (found,) = diagnose(traces.folder).findings
    assert found.dropped == ("forward",)


def test_the_nearest_callers_which_torch_leaves_out_are_not_given_up(traces: Traces) -> None:
    """The start of a compilation lacks the two frames that called it, and the stack of its break has them."""
    skipped = "Failed to handle graph break gracefully. Skipping the function and falling back to eager."
    broken = traces.graph_break(NET, 42, name="nms", reason=skipped)
    callers = "".join(
        f'  File "{NET}", line {line}, in {name}\n\t' for line, name in ((90, "main"), (66, "forward"), (70, "post"))
    )
    broken = broken.replace(f'  File "{NET}", line 42'.encode(), f'{callers}  File "{NET}", line 42'.encode())
    traces.write(0, traces.start(0, 0, NET, 39, "nms", callers=((90, "main"),)) + broken)
    (found,) = diagnose(traces.folder).findings
    assert found.dropped == ("nms",)


@pytest.mark.parametrize("counted", [False, True])
def test_a_number_of_each_layer_is_told_from_a_counter(traces: Traces, tmp_path: Path, counted: bool) -> None:
    """Only behind a graph break are the layers compiled one by one, and each has another number."""
    net = tmp_path / "net.py"
    step = "        self.number += 1\n" if counted else ""
    net.write_text(
        "class Layer:\n    def __init__(self, number):\n        self.number = number\n\n"
        f"    def forward(self, x):\n{step}        return x * self.number\n"
    )
    path, caller, layer = str(net), 66, 5
    broken = (
        traces.graph_break(path, 6)
        .replace(
            f'  File "{path}", line 6'.encode(),
            f'  File "{path}", line {caller}, in forward\n\t  File "{path}", line 6'.encode(),
        )
        .replace(b"    print(x)", b"")
    )
    start = traces.start(1, 0, path, layer, callers=((caller, "forward"),))
    again = _recompiled(traces, 1, "L['self'].number == 0", path, layer, frame=1)
    traces.write(0, traces.start(0, 0, path, 60) + broken + start + again)
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy is not None
    assert found.remedy.startswith("keep the number in a tensor buffer" if counted else "remove the graph break at ")


def test_a_compilation_that_raised_is_a_break_with_its_error(traces: Traces) -> None:
    failed = {"fail_type": "BackendCompilerFailed", "fail_reason": "backend='x' raised:\nValueError: boom"}
    traces.write(0, traces.start(0, 0, NET, 3), traces.metrics(0, 0, **failed))
    (finding,) = diagnose(traces.folder).findings
    message = "compiling fails with BackendCompilerFailed: backend='x' raised: ValueError: boom"
    assert (finding.location.line, finding.message) == (3, message)


def test_a_failure_that_has_its_break_is_told_once(traces: Traces) -> None:
    failed = {"fail_type": "Unsupported", "fail_reason": "Failed to trace builtin operator"}
    traces.write(0, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5), traces.metrics(0, 0, **failed))
    assert [finding.location.line for finding in diagnose(traces.folder).findings] == [5]


def test_times_restarts_and_caches_are_told(traces: Traces) -> None:
    traces.write(
        0,
        traces.start(0, 0, NET, 3),
        traces.metrics(0, 0, entire_frame_compile_time_s=2.5, restart_reasons=["a", "b"]),
        traces.record("bwd_compilation_metrics", {"compile_id": "0/0", "duration_us": 500_000}),
        *[traces.artifact("fx_graph_cache_hit", "{}")] * 3,
        traces.artifact("aotautograd_cache_miss", "{}"),
    )
    diagnosis = diagnose(traces.folder)
    assert diagnosis.timings == {"compile rank 0": 3.0, f"compile {NET}:3 forward": 3.0}
    assert noted(diagnosis, "caches") == "caches: aotautograd miss: 1, fx_graph hit: 3"
    assert "2 times" in noted(diagnosis, "started again")
    assert [run.mode for run in diagnosis.dynamic or ()] == ["train"]


def test_a_mode_that_the_trace_does_not_tell_is_unknown(traces: Traces) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), traces.metrics(0, 0))
    assert [run.mode for run in diagnose(traces.folder).dynamic or ()] == ["unknown"]
    traces.write(0, traces.start(0, 0, NET, 3), traces.metrics(0, 0), traces.record("aot_inference_graph", {}))
    assert [run.mode for run in diagnose(traces.folder).dynamic or ()] == ["eval"]


# Each of these breaks has 415 characters of text.
@pytest.mark.parametrize(("limit", "number"), [("BREAK_LIMIT", 10), ("TEXT_LIMIT", 9 * 415)])
def test_many_different_breaks_are_counted_beyond_the_limit(
    traces: Traces, monkeypatch: pytest.MonkeyPatch, limit: str, number: int
) -> None:
    monkeypatch.setattr(process, limit, number)
    traces.write(0, traces.start(0, 0, NET, 3), *[traces.graph_break(NET, line) for line in range(5, 30)])
    diagnosis = diagnose(traces.folder)
    assert len(diagnosis.findings) == 10
    assert "15 break records" in noted(diagnosis, "more than are kept")


def test_two_readings_are_the_same(traces: Traces) -> None:
    from graphdoctor.report.json_format.writer import to_dict

    for rank in (0, 1):
        traces.write(rank, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5 + rank))
    first, second = (json.dumps(to_dict(diagnose(traces.folder))) for _ in range(2))
    assert first == second
