"""From files made by hand to the diagnosis."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

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


@pytest.mark.parametrize(
    ("version", "says"), [("2.13.0", ""), ("2.9.1", "the rules describe torch 2.13"), ("9.1", "torch 9.1 is newer")]
)
def test_a_torch_that_the_rules_do_not_quite_describe_is_named(traces: Traces, version: str, says: str) -> None:
    made_by = traces.artifact("torch_version", json.dumps({"pytorch_version": version}))
    traces.write(None, made_by, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5))
    about_torch = [note for note in diagnose(traces.folder).notes if "torch" in note]
    assert [note.startswith(says) for note in about_torch] == [True] * bool(says)


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
    traces.write(0, traces.start(0, 0, NET, 3), traces.graph_break(NET, 5), traces.graph_break(library, 7, name="to"))
    assert {f.location.path: f.owner for f in diagnose(traces.folder).findings} == {NET: "own", library: "third-party"}


def test_the_function_given_up_is_the_compiled_one_and_not_a_caller_that_the_stack_begins_with(traces: Traces) -> None:
    """torch 2.13 writes the whole stack of a break, from the script's first line on."""
    skipped = "Failed to handle graph break gracefully. Skipping the function and falling back to eager."
    broken = traces.graph_break(NET, 42, reason=skipped)
    stack = f'  File "{NET}", line 90, in <module>\n\t  File "{NET}", line 66, in main\n\t  File "{NET}", line 42'
    broken = broken.replace(f'  File "{NET}", line 42'.encode(), stack.encode())
    traces.write(0, traces.start(0, 0, NET, 39, callers=((90, "<module>"), (66, "main"))) + broken)
    (found,) = diagnose(traces.folder).findings
    assert found.dropped == ("forward",)


def test_a_function_is_given_up_where_the_recorder_says_so_of_the_next_break(traces: Traces) -> None:
    """Until torch 2.10 the text of a break in a loop does not say it."""
    says = traces.artifact("graphdoctor_gives_up_function", "true")
    start = traces.start(0, 0, NET, 39)
    traces.write(0, start + says + traces.graph_break(NET, 42) + traces.graph_break(NET, 44))
    assert [found.dropped for found in diagnose(traces.folder).findings] == [("forward",), ()]


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


def test_what_a_break_left_of_a_function_is_given_up_and_not_its_caller(traces: Traces) -> None:
    """The stack of a break has the name of the function, and the start of a compilation that of what goes on."""
    skipped = "Failed to handle graph break gracefully. Skipping the function and falling back to eager."
    broken = traces.graph_break(NET, 42, name="advance", reason=skipped)
    callers = "".join(
        f'  File "{NET}", line {line}, in {name}\n\t' for line, name in ((90, "main"), (66, "solve"), (70, "integrate"))
    )
    broken = broken.replace(f'  File "{NET}", line 42'.encode(), f'{callers}  File "{NET}", line 42'.encode())
    resumed = "torch_dynamo_resume_in_integrate_at_68"
    traces.write(0, traces.start(0, 0, NET, 68, resumed, callers=((90, "main"),)) + broken)
    (found,) = diagnose(traces.folder).findings
    assert found.dropped == ("integrate",)


def test_a_compilation_that_raised_is_a_break_with_its_error(traces: Traces) -> None:
    failed = {"fail_type": "TorchRuntimeError", "fail_reason": "shapes do not\nfit"}
    traces.write(0, traces.start(0, 0, NET, 3), traces.metrics(0, 0, **failed))
    (finding,) = diagnose(traces.folder).findings
    message = "compiling fails with TorchRuntimeError: shapes do not fit"
    assert (finding.location.line, finding.message) == (3, message)


def test_a_backend_that_raised_is_no_break(traces: Traces) -> None:
    failed = {"fail_type": "BackendCompilerFailed", "fail_reason": "backend='x' raised:\nValueError: boom"}
    traces.write(0, traces.start(0, 0, NET, 3), traces.metrics(0, 0, **failed))
    diagnosis = diagnose(traces.folder)
    assert diagnosis.findings == () and "backend x fails" in diagnosis.summary.headline


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
