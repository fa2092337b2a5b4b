"""Recompiles of a trace: their causes, and the advice that follows from the guards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graphdoctor.trace.diagnose import diagnose

if TYPE_CHECKING:
    from conftest import Traces

NET = "/job/net.py"


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


def test_a_layer_of_torch_is_compiled_again_at_the_users_call(traces: Traces) -> None:
    wrapper = "/opt/env/lib/python3.12/site-packages/torch/_dynamo/external_utils.py"
    paths = traces.record("str", [wrapper, 7]) + traces.record("str", ["/job/train.py", 8])

    def start(attempt: int, line: int) -> bytes:
        stack = [{"line": line, "name": "main", "filename": 8}, {"line": 67, "name": "inner", "filename": 7}]
        return traces.record("dynamo_start", {"stack": stack}, frame_id=0, frame_compile_id=attempt, attempt=0)

    reason = "0/0: tensor 'args[0]' size mismatch at index 0. expected 8, actual 6"
    again = traces.artifact("recompile_reasons", reason, 0, 1) + start(1, 19)
    traces.write(0, paths + start(0, 15), again)
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert (found.path, found.line, found.input) == ("/job/train.py", 19, "args[0]")


@pytest.mark.parametrize("file", ["torch/_dynamo/external_utils.py", "accelerate/utils/operations.py"])
def test_a_wrapped_function_is_compiled_again_at_the_line_that_asked_for_the_value(traces: Traces, file: str) -> None:
    """The frame is a library's, the guard has the end of the path, and the recorder noted whose lines were traced."""
    wrapper = (f"/opt/env/lib/python3.12/site-packages/{file}", 67, "inner")
    guard = "0/0: args[1] == 4                         # if i > 0:  # ob/sampler.py:12 in step"
    called = traces.artifact("graphdoctor_called_by", json.dumps([["/job/train.py", 21]]), 0, 0)
    lines = json.dumps({"/job/sampler.py": [11, 12], "/other/sampler.py": [12]})
    took = {"entire_frame_compile_time_s": 1.0}
    for rank in (0, 1):
        traces.write(
            rank,
            traces.start(0, 0, *wrapper) + called,
            traces.record("compilation_metrics", took, frame_id=0, frame_compile_id=0, attempt=0),
            traces.artifact("recompile_reasons", guard, 0, 1) + traces.start(0, 1, *wrapper),
            traces.artifact("graphdoctor_traced_lines", lines),
        )
    diagnosis = diagnose(traces.folder)
    ((found,),) = [run.recompiles for run in diagnosis.dynamic or ()]
    assert (found.path, found.line, found.input) == ("/job/sampler.py", 12, "args[1]")
    # The compile time of torch's wrapper names what it is around.
    [time] = [note for note in diagnosis.notes if note.startswith("compile time of ")]
    assert time.count("called at /job/train.py:21") == file.startswith("torch/")


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
        ("L['self'].seen == 8", "keep the number in a tensor buffer, or, for an int of a module, set torch._dynamo"),
        ("L['self'].length == 8  # if n <= self.length:  # net.py:5 in forward", "set it once, before the first call"),
        ("L['self'].param_groups[0]['lr'] == 0.1", "give the optimizer its learning rate as a tensor"),
        ("L['self'].merged == False", "one compilation for each value is the least"),
        ("L['self'].kind == 'gelu'", "one compilation for each value is the least"),
        ("expected type of 'y' to be a tensor type, ' but found <class 'NoneType'>", "pass a neutral tensor"),
        ("expected type of 'y' to be a tensor type, ' but found <class 'float'>", "pass values of one type"),
        ("Cache line invalidated because L['___stack0'] got deallocated", "remove the graph break that left it"),
        ("___check_obj_id(___stack0, 1398), type=<class 'builtin_function_or_method'>", "remove the graph break"),
        ("L['flag'] == False", "one compilation for each value is the least"),
        ("len(G['__import_einops_dot__backends'].found) == 1", "fill it before the first call"),
        (
            "len(L['self'].state[list(dict.keys(L['self'].state))[0]]) == 0",
            "the optimizer makes its state in its first",
        ),
        ("not L['self'].state[list(dict.keys(L['self'].state))[0]]", "the optimizer makes its state in its first step"),
        ("not L['self'].features", "fill it before the first call"),
        ("not ___dict_contains('scale', L['self'].__dict__)", "set it before the first call"),
        ("tensor 'x' size mismatch at index 1. expected 5, actual 1", "sizes 0 and 1 are always compiled separately"),
        ("tensor 'x' size mismatch at index 0. expected 1, actual 8", "sizes 0 and 1 are always compiled separately"),
        ("tensor 'x' size mismatch at index 0. expected 16, actual 4", "torch.compile(dynamic=True)"),
        ("L['x'].size()[1] != 6  # bias[:, :T]  # net.py:5 in forward (a/b.py:1 in c)", "the size is dynamic already"),
        ("L['x'].size()[1] == 6  # if T == 6:  # net.py:5 in forward", "the size is dynamic already"),
        ("(2*L['x'].size()[1]) > L['y'].size()[0]  # x  # net.py:5 in forward", "the size is dynamic already"),
        ("L['x'].size()[1] == L['y'].size()[0]  # x  # net.py:5 in forward", "torch.compile(dynamic=True)"),
        ("2 <= L['x'].size()[1]  # x  # net.py:5 in forward", "sizes 0 and 1 are always compiled separately"),
    ],
)
def test_advice_fits_what_the_guard_looked_at(traces: Traces, guard: str, advice: str) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), _recompiled(traces, 1, guard, NET, 3))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy is not None and found.remedy.startswith(advice)


def test_the_state_that_an_optimizer_makes_in_its_first_step_is_one_compilation_more(traces: Traces) -> None:
    """``torch.compile(optimizer.step)`` compiles the wrapper that torch puts around each ``step``."""
    wrapper = ("/env/site-packages/torch/optim/optimizer.py", 509, "profile_hook_step")
    traces.write(0, traces.start(0, 0, *wrapper), _recompiled(traces, 1, "not L['args'][0].state", *wrapper))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy is not None and found.remedy.startswith("the optimizer makes its state in its first step")


def test_the_setting_for_ints_is_not_named_for_a_float(traces: Traces) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), _recompiled(traces, 1, "L['self'].peak == 0.5", NET, 3))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy == "keep the number in a tensor buffer"


@pytest.mark.parametrize(
    ("base", "advice"),
    [("", "a number that changes is dynamic from its second value on"), ("(nn.Module)", "keep the number in a tensor")],
)
def test_an_int_of_a_plain_class_becomes_dynamic(traces: Traces, tmp_path: Path, base: str, advice: str) -> None:
    net = tmp_path / "net.py"
    net.write_text(f"class Trainer{base}:\n    def step(self, x):\n        self.n += 1\n        return x * self.n\n")
    place = (str(net), 2, "step")
    once = _recompiled(traces, 1, "L['self'].n == 0", *place)
    traces.write(0, traces.start(0, 0, *place), once)
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy is not None and found.remedy.startswith(advice)


@pytest.mark.parametrize("guard", ["((1 + L['self'].n) % 2) == 0", "L['n'] < 5"])
def test_a_number_that_the_code_decides_by_is_compiled_for_each_side(traces: Traces, guard: str) -> None:
    traces.write(0, traces.start(0, 0, NET, 3), _recompiled(traces, 1, guard, NET, 3))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.remedy == "one compilation for each value is the least: the code decides by it"


def test_a_number_at_the_limit_did_not_become_dynamic(traces: Traces) -> None:
    again = traces.artifact("recompile_reasons", "0/0: L['n'] == 8", 0, 1)
    traces.write(0, traces.start(0, 0, NET, 3), again)
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.at_limit and found.remedy is not None and found.remedy.startswith("pass the number as a tensor")


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


def test_a_break_in_an_installed_package_is_named_without_its_folder(traces: Traces) -> None:
    file = "/opt/env/lib/python3.12/site-packages/checks/run.py"
    caller, layer = (file, 66, "forward"), (file, 39, "forward")
    broken = traces.graph_break(file, 42).replace(
        f'  File "{file}", line 42'.encode(),
        f'  File "{file}", line 66, in forward\n\t  File "{file}", line 42'.encode(),
    )
    inner = traces.start(1, 0, *layer, callers=((66, "forward"),))
    again = traces.artifact(
        "recompile_reasons", "1/0: tensor 'x' requires_grad mismatch. expected requires_grad=0", 1, 1
    )
    traces.write(0, traces.start(0, 0, *caller) + broken + inner + again, traces.start(1, 1, *layer))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert (found.remedy or "").startswith("remove the graph break at checks/run.py:42: ")


@pytest.mark.parametrize(
    ("name", "advice"),
    [("torch_dynamo_resume_in_forward_at_42", f"remove the graph break at {NET}:42: "), ("forward", "a number that ")],
)
def test_a_size_from_before_the_break_ends_with_it(traces: Traces, name: str, advice: str) -> None:
    caller, rest = (NET, 66, "forward"), (NET, 43, name)
    broken = traces.graph_break(NET, 42).replace(
        f'  File "{NET}", line 42'.encode(), f'  File "{NET}", line 66, in forward\n\t  File "{NET}", line 42'.encode()
    )
    inner = traces.start(1, 0, *rest, callers=((66, "forward"),))
    again = traces.artifact("recompile_reasons", "1/0: L['length'] == 16", 1, 1)
    traces.write(0, traces.start(0, 0, *caller) + broken + inner + again, traces.start(1, 1, *rest))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert (found.remedy or "").startswith(advice)


@pytest.mark.parametrize("counted", [False, True])
def test_a_number_of_each_layer_is_told_from_a_counter(traces: Traces, tmp_path: Path, counted: bool) -> None:
    """Only after a graph break are the layers compiled one by one, and each has another number."""
    net = tmp_path / "net.py"
    step = "        self.number += 1\n" if counted else ""
    net.write_text(
        "class Layer(nn.Module):\n    def __init__(self, number):\n        self.number = number\n\n"
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
    assert found.later_calls == (None if counted else 0)


def test_of_a_mode_that_goes_back_and_forth_and_a_size_each_has_its_compilations(traces: Traces) -> None:
    mode, size = (
        "0/{}: GLOBAL_STATE changed: grad_mode ",
        "0/{}: tensor 'x' size mismatch at index 0. expected 8, actual 5",
    )

    def again(attempt: int, *reasons: str) -> bytes:
        recorded = traces.artifact("recompile_reasons", json.dumps(reasons), 0, attempt)
        return recorded + traces.start(0, attempt, NET, 3)

    traces.write(
        0,
        traces.start(0, 0, NET, 3),
        again(1, mode.format(0)),
        again(2, mode.format(1), size.format(0)),
        again(3, mode.format(2), size.format(1), mode.format(0)),
    )
    (found,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert {(each.kind, each.caused) for each in found} == {("state", 1), ("size", 2)}
