"""Paths: branches, loops, error paths, with blocks."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Subscript, Truth
from graphdoctor.static.domain.value_functions import is_sure_tensor, options


def run(events, body: str):
    source = "import torch, logging\nlogger = logging.getLogger('a')\ndef f(x, mask=None, flag=True):\n"
    source += "".join(f"    {line}\n" for line in body.splitlines())
    source += "def graphdoctor_target():\n    return f, (torch.rand(4, 4),)\n"
    return events(source)


def prints(found):
    return [e for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]


@pytest.mark.parametrize(
    ("keyword", "body"),
    [
        ("for", "for i in range(3):\n    print(i)\nreturn x"),
        ("for", "for i in range(x.shape[0]):\n    print(i)\nreturn x"),
        ("while", "i = 0\nwhile i < 3:\n    i += 1\n    print(i)\nreturn x"),
        ("try", "try:\n    print(1)\nexcept ValueError:\n    pass\nreturn x"),
        ("try", "try:\n    x = x + 1\nfinally:\n    print(1)\nreturn x"),
        ("for", "try:\n    for i in range(3):\n        print(i)\nfinally:\n    pass\nreturn x"),
    ],
)
def test_a_break_in_a_loop_or_try_costs_the_frame(events, keyword, body):
    found = prints(run(events, body))
    assert {(e.site.whole_frame.function, e.site.whole_frame.keyword) for e in found} == {("f", keyword)}
    lines = found[0].site.module.lines
    # The innermost block around the break is named, by its first line.
    assert all(lines[e.site.whole_frame.line - 1].strip().startswith(keyword) for e in found)


@pytest.mark.parametrize(
    "body", ["with torch.no_grad():\n    print(1)\nreturn x", "print(1)\nfor i in (1, 2): x += i\nreturn x"]
)
def test_straight_lines_and_grad_modes_do_not(events, body):
    assert {e.site.whole_frame for e in prints(run(events, body))} == {None}


def test_a_callee_in_a_loop_inherits_it(events):
    found = events("""
        import torch

        def helper(x):
            print(x)

        def f(x):
            for _ in range(2):
                helper(x)
            return x

        def graphdoctor_target():
            return f, (torch.rand(1),)
    """)
    assert [(e.site.function, e.site.whole_frame.function) for e in prints(found)] == [("helper", "f")]


def test_a_loop_around_the_call_of_a_compiled_model_is_not_in_the_graph(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                print(x)
                return x

        def main(loader):
            net = torch.compile(Net())
            for batch in loader:
                try:
                    net(torch.rand(2))
                except RuntimeError:
                    pass

        main([1, 2])
    """)
    assert {(e.site.whole_frame, e.site.conditional) for e in prints(found)} == {(None, False)}


def test_fields_of_torchs_named_tuples_are_tensor_data(events):
    found = run(
        events,
        "a = x.max(-1).values\nif a[0] > 0: pass\nb = torch.linalg.svd(x).S\nif b[0] > 0: pass\n"
        "if x.topk(1).indices[0] > 0: pass\nreturn x",
    )
    assert len([e for e in found if isinstance(e, Truth)]) == 3


@pytest.mark.parametrize(
    "body",
    [
        "if x.shape[0] > 9:\n    print(x)\n    raise ValueError('too long')\nreturn x",
        "if mask is None:\n    return x\nprint(mask)\nreturn x",
        "if not flag:\n    print(1)\nreturn x",
        "if torch.compiler.is_compiling():\n    return x\nprint(1)\nreturn x",
        "if not torch.compiler.is_compiling():\n    print(1)\nreturn x",
        "try:\n    return x + 1\nexcept RuntimeError:\n    print(1)",
        "raise ValueError(print(x))",
        "if isinstance(x, list):\n    print(1)\nreturn x",
        "for i in []:\n    print(i)\nreturn x",
        "if torch.jit.is_scripting():\n    print(1)\nreturn x",
    ],
)
def test_paths_a_trace_does_not_take_are_silent(events, body):
    assert prints(run(events, body)) == []


def test_a_condition_the_trace_decides_marks_what_is_under_it(events):
    found = run(events, "if x.shape[0] > 2:\n    print(1)\nprint(2)\nreturn x")
    assert [e.site.conditional for e in prints(found)] == [True, False]


def test_tensor_conditions_are_events_wherever_they_stand(events):
    found = run(
        events,
        "y = x.sum()\nif y > 0: pass\nwhile y > 0: y = y - 1\nz = 1 if y > 0 else 2\nw = y or 3\n"
        "v = not y\nu = [i for i in range(3) if y > i]\nt = 0 < y < 3\ns = any(r > 0 for r in x)\nreturn x",
    )
    assert {e.context for e in found if isinstance(e, Truth)} == {
        "if", "while", "ternary", "or", "not", "comprehension", "and", "call",
    }  # fmt: skip


def test_shapes_dtypes_and_none_are_no_tensor_conditions(events):
    found = run(
        events,
        "if x.shape[0] > 1 and x.dtype == torch.float32 and x.ndim == 2 and len(x) > 1 and x.device.type == 'cpu': pass\n"
        "if x is None or x.is_contiguous() or x.requires_grad or isinstance(x, torch.Tensor): pass\nreturn x",
    )
    assert [e for e in found if isinstance(e, Truth)] == []


def test_tensor_data_flows_through_containers_and_objects(events):
    found = run(
        events,
        "d = {'a': [x]}\nd['b'] = (x, 1)\nif d['a'][0] > 0: pass\na, *b = [1, x, x]\nif b[0] > 0: pass\n"
        "for i, (k, v) in enumerate(zip([1], [x])):\n    if v > 0: pass\nif d.get('b')[1]: pass\nreturn x",
    )
    assert len([e for e in found if isinstance(e, Truth)]) == 3


def test_mask_dtype_is_known_through_operators(events):
    found = run(events, "m = ~((x > 0) & torch.isfinite(x))\ny = x[m]\ny[x.argmax()] = 0\nreturn y")
    assert [(e.mode, e.index[0].dtype) for e in found if isinstance(e, Subscript)] == [
        ("load", "bool"),
        ("store", "int"),
    ]


def test_a_handler_runs_where_its_exception_is_sure(events):
    taken = "try:\n    y = {'a': 1}['b']\nexcept KeyError:\n    print(1)\nreturn x"
    other = "try:\n    raise ValueError('a')\nexcept KeyError:\n    print(1)\nreturn x"
    depends = "try:\n    if x.requires_grad:\n        raise KeyError('a')\nexcept KeyError:\n    print(1)\nreturn x"
    assert len(prints(run(events, taken))) == 1
    assert prints(run(events, other)) == []
    assert prints(run(events, depends)) == []


@pytest.mark.parametrize(
    "body",
    [
        "if x.shape[0] > 100:\n    print(1)\nreturn x",
        "if x.shape[0] == 4:\n    return x\nprint(1)\nreturn x",
        "y = print(1) if len(x) > 100 else None\nreturn x",
        "if not x.size(1) > 3:\n    print(1)\nreturn x",
    ],
)
def test_what_the_shapes_of_the_sample_rule_out_is_untaken(events, body):
    assert [e.site.untaken for e in prints(run(events, body))] == [True]


def test_what_they_allow_is_not(events):
    body = "if x.shape[0] > 3:\n    print(1)\nif flag:\n    print(2)\nreturn x"
    assert [e.site.untaken for e in prints(run(events, body))] == [False, False]


def test_a_loop_over_known_items_surely_runs(events):
    body = "out = {}\nfor k in ('a', 'b'):\n    out[k] = x.sum()\nif out['a'] > 0:\n    return x\nreturn x * 2"
    found = [e.value for e in run(events, body) if isinstance(e, Truth)]
    assert all(is_sure_tensor(value) for value in found)
    assert found


def test_a_global_that_is_set_under_a_condition_may_hold_what_it_held(events):
    found = events("""
        import torch
        from kernels import get_kernel

        kernel = None

        def load():
            global kernel
            kernel = get_kernel("fast")

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                if torch.cuda.is_available() and kernel is None:
                    try:
                        load()
                    except Exception:
                        pass

            def forward(self, x):
                if kernel is None:
                    print("slow")
                    return x
                return kernel(x)
    """)
    assert [e for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]


@pytest.mark.parametrize(("annotated", "kinds"), [("", {True, False}), (": torch.Tensor", {False})])
def test_an_annotation_says_which_of_two_kinds_a_value_is(events, annotated, kinds):
    found = run(events, f"y{annotated} = x.numpy() if len(mask) else x\nprint(y)\nreturn x")
    (shown,) = prints(found)
    assert {option.numpy for option in options(shown.args[0])} == kinds


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ("print(1)\nraise NotImplementedError", 0),
        ("print(1)\nraise NotImplementedError('subclasses define it')", 0),
        ("print(1)\nif mask is None:\n    return x\nraise NotImplementedError(mask)", 1),
        ("print(1)\nraise ValueError", 1),
    ],
)
def test_what_a_function_that_is_not_there_yet_does_is_no_concern(events, body, reported):
    assert len(prints(run(events, body))) == reported
