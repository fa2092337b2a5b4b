"""What is advised for a number or a size that is compiled again: what a run of the advice ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphdoctor.model.runs import Recompile
from graphdoctor.trace.diagnose import diagnose

if TYPE_CHECKING:
    from conftest import Traces

NET = "/job/net.py"
NEEDED = "one compilation for each value is the least: the code needs it as a number"


def _recompiles(
    traces: Traces, *reasons: str, path: str = NET, before: bytes = b"", name: str = "f"
) -> list[Recompile]:
    again = [
        traces.artifact("recompile_reasons", f"0/{number}: {reason}", 0, number + 1)
        + traces.start(0, number + 1, path, 3, name)
        for number, reason in enumerate(reasons)
    ]
    traces.write(0, traces.start(0, 0, path, 3, name) + before, *again)
    return [recompile for run in diagnose(traces.folder).dynamic or () for recompile in run.recompiles]


def test_an_expression_is_one_cause_whatever_its_value(traces: Traces) -> None:
    code = "  # b = math.log(t + 1)  # net.py:5 in f (_dynamo/utils.py:4231 in run_node)"
    found = _recompiles(
        traces, "t == 0.0    # a = t * 2  # net.py:4 in f", *(f"(1.0 + t) == 1.{n}{code}" for n in "123")
    )
    assert [(each.line, each.caused) for each in found] == [(4, 1), (5, 3)]
    assert found[0].remedy is not None and found[0].remedy.startswith("a number that changes is dynamic")
    assert found[1].remedy is not None and found[1].remedy.startswith("the module math needs it as a number")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("v = g.square().mean(dim=red_dim, keepdim=True)", "one compilation for each value is the least: it names a"),
        ("v = g.square().mean(axis=(red_dim, 0))", "one compilation for each value is the least: it names a"),
        ("v = g.mean(dim=0) * red_dim", "pass the number as a tensor"),
    ],
)
def test_a_number_that_names_a_dimension(traces: Traces, code: str, advice: str) -> None:
    (found,) = _recompiles(traces, *(f"red_dim == -{n}  # {code}  # net.py:5 in step" for n in (2, 1)))
    assert found.remedy is not None and found.remedy.startswith(advice)


@pytest.mark.parametrize(
    ("code", "needed_by", "advice"),
    [
        (
            "self.cache[:, n] = h",
            "_dynamo/utils.py:4231 in run_node",
            "a number beside other indices is compiled again",
        ),
        ("for _ in range(n):", "_dynamo/variables/tensor.py:2606 in evaluate_expr", "the loop is unrolled"),
        ("return F.dropout(x, n)", "nn/functional.py:1491 in dropout", NEEDED),
        ("return layers[n](x)", "_dynamo/variables/lists.py:174 in getitem_const", NEEDED),
    ],
)
def test_a_number_that_no_tensor_can_replace(traces: Traces, code: str, needed_by: str, advice: str) -> None:
    first = f"n == 0                 # {code}  # net.py:5 in forward"
    (found,) = _recompiles(traces, first, f"n == 1  # {code}  # net.py:5 in forward ({needed_by})")
    assert found.remedy is not None and found.remedy.startswith(advice)


@pytest.mark.parametrize(
    ("guard", "advice"),
    [
        ("self.pos == 0      # self.cache[:, self.pos] = h  # net.py:5 in forward", "a number beside other indices"),
        ("G['POS'] == 0      # return cache[:, POS]  # net.py:5 in forward", "a number beside other indices"),
        ("fn.__defaults__[0] == 0", "it is the default of a function that is made anew for each call"),
        ("fn.__closure__[0].cell_contents == 16", "a number that changes is dynamic from its second value on"),
        ("state.t == 0", "keep the number in a tensor if it is an attribute of a module"),
        ("___check_obj_id(mode, 13978), type=<class '__main__.Mode'>", "pass the same object each time"),
        ("fn.keywords['alpha'] == 0.1", "a number that changes is dynamic from its second value on"),
        ("len(losses) != 1", "pass the same keys in each call"),
        ("KeyError on meta['scale']", "pass the same keys in each call"),
        ("getattr failed on source state.cfg", "set it before the first call"),
        ("G['MODE'] == 'a'", "one compilation for each value is the least"),
        ("len(xs) == 1", "keep the length the same in each call"),
        (
            "tensor 'self._modules['a']._parameters['bias']' size mismatch at index 0. expected 4, actual 5. Guard failed "
            "on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism",
            "modules of several sizes share this code",
        ),
        (
            "tensor 'fn._parameters['bias']' requires_grad mismatch. expected requires_grad=0. Guard failed on a parameter",
            "set it before the first call",
        ),
        (
            "tensor 'x' size mismatch at index 1. expected 16, actual 24",
            "torch.compile(dynamic=True), or torch._dynamo.mark_dynamic on the dimension that varies; by default it is "
            "dynamic from its second size on",
        ),
    ],
)
def test_the_advice_for_one_recompile(traces: Traces, guard: str, advice: str) -> None:
    (found,) = _recompiles(traces, guard)
    assert found.remedy is not None and found.remedy.startswith(advice)


@pytest.mark.parametrize("unrolled", [True, False])
def test_a_size_that_counts_a_loop(traces: Traces, tmp_path: Path, unrolled: bool) -> None:
    """`dynamic=True` changes nothing there: each size is compiled by itself."""
    net = tmp_path / "net.py"
    count = "x.shape[1]" if unrolled else "4"
    net.write_text(f"import torch\n\ndef f(x):\n    for t in range({count}):\n        x = x + t\n    return x\n")
    size = "tensor 'x' size mismatch at index 1. expected {}, actual {}"
    first = size.format(3, 4)
    both = json.dumps([f"0/1: {size.format(4, 5)}", f"0/0: {size.format(3, 5)}"])
    traces.write(
        0,
        traces.start(0, 0, str(net), 3, "f"),
        traces.artifact("recompile_reasons", f"0/0: {first}", 0, 1) + traces.start(0, 1, str(net), 3, "f"),
        traces.artifact("recompile_reasons", both, 0, 2) + traces.start(0, 2, str(net), 3, "f"),
    )
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    advice = (
        "a loop over this size is unrolled" if unrolled else "torch.compile(dynamic=True) where dynamic=False is set"
    )
    assert found.remedy is not None and found.remedy.startswith(advice)


@pytest.mark.parametrize(
    ("before", "count", "found"),
    [
        ("b, n, d = x.shape", "n", True),
        ("n = x.size(1)", "n", True),
        ("n = 1", "x.shape[1]", True),
        ("b, n, d = x.size()", "n - 1", False),
        ("b, n, d = x.shape", "d", False),
        ("n = x.size(1)", "self.layers", False),
    ],
)
def test_a_loop_over_the_size_in_a_function_that_is_called(
    traces: Traces, tmp_path: Path, before: str, count: str, found: bool
) -> None:
    net = tmp_path / "net.py"
    net.write_text(f"def scan(self, x):\n    {before}\n    for i in range({count}):\n        x = x + i\n    return x\n")
    size = "tensor 'ids' size mismatch at index 1. expected {}, actual {}"
    both = json.dumps([f"0/1: {size.format(4, 5)}", f"0/0: {size.format(3, 5)}"])
    model = ("/job/model.py", 3, "forward")
    traces.write(
        0,
        traces.start(0, 0, *model),
        traces.artifact("recompile_reasons", f"0/0: {size.format(3, 4)}", 0, 1) + traces.start(0, 1, *model),
        traces.artifact("recompile_reasons", both, 0, 2) + traces.start(0, 2, *model),
        traces.artifact("graphdoctor_traced_lines", json.dumps({str(net): [2, 3, 4, 5]})),
    )
    ((cause,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert cause.remedy is not None
    assert cause.remedy.startswith("a loop over this size is unrolled") is found
    assert cause.remedy.endswith("net.py:3)") is found


def _of_module(traces: Traces, module: int, attempt: int) -> bytes:
    wrapped = json.dumps([{"args[0]": "input"}, ["/env/torch/nn/modules/container.py", 250, "forward"], str(module)])
    return traces.artifact("graphdoctor_argument_names", wrapped, 0, attempt)


@pytest.mark.parametrize(("modules", "found"), [((1, 2), []), ((1, 1), ["size"]), ((1, 2, 1), ["size"])])
def test_the_first_compilation_of_a_module_is_no_recompile(
    traces: Traces, modules: tuple[int, ...], found: list[str]
) -> None:
    """What torch makes of a module of its own, such as ``nn.Sequential``, is one wrapper for all of them."""
    wrapper = ("/env/site-packages/torch/_dynamo/external_utils.py", 67, "inner")
    size = "0/0: tensor 'args[0]' size mismatch at index 1. expected 4, actual 6"
    every = [
        (traces.artifact("recompile_reasons", size, 0, attempt) if attempt else b"")
        + traces.start(0, attempt, *wrapper)
        + _of_module(traces, module, attempt)
        for attempt, module in enumerate(modules)
    ]
    traces.write(0, *every)
    (recompiles,) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert [each.kind for each in recompiles] == found


def test_many_modules_share_the_limit_of_one_wrapper(traces: Traces) -> None:
    wrapper = ("/env/site-packages/torch/_dynamo/external_utils.py", 67, "inner")
    size = "0/0: tensor 'args[0]' size mismatch at index 1. expected 4, actual 6"
    every = [traces.start(0, number, *wrapper) + _of_module(traces, number, number) for number in range(8)]
    traces.write(0, *every, traces.artifact("recompile_reasons", size, 0, 8))
    ((found,),) = [run.recompiles for run in diagnose(traces.folder).dynamic or ()]
    assert found.at_limit and "isolate_recompiles=True" in (found.remedy or "")


def test_a_wrapper_of_the_user_is_told_by_the_function_that_it_wraps(traces: Traces) -> None:
    wrapped = json.dumps([{"args[0]": "self", "args[1]": "images"}, ["/job/net.py", 31, "forward"], "1"])
    names = traces.artifact("graphdoctor_argument_names", wrapped)
    reason = "tensor 'args[1]' size mismatch at index 0. expected 8, actual 6"
    (found,) = _recompiles(traces, reason, path="/job/decorators.py", before=names, name="wrapper")
    assert (found.path, found.line, found.input) == ("/job/net.py", 31, "images")
    assert found.cause == "the size of images changed in dimension 0: expected 8, actual 6"
