"""Which outputs of CUDA graphs are read after the next call."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from graphdoctor.lint.engine import analyse

COMPILE = "fast = torch.compile(model.cuda().eval(), mode='reduce-overhead')\n"
COLLECT = "outs = []\nfor x in xs:\n    outs.append(fast(x))\n"
HEAD = "import torch\nimport torch.nn as nn\n\n\n"


def found(folder: Path, source: str) -> list[tuple[int, str]]:
    file = folder / "m.py"
    file.write_text(source)
    result = analyse([(file, "m.py")])
    assert [each.reason for each in result.files] == [None]
    return [(each.location.line, each.confidence) for each in result.findings if each.rule == "GD632"]


def main(body: str, compile: str = COMPILE, without_grad: bool = True) -> str:
    """A program whose first line of ``body`` is line 8, and 7 with gradients."""
    inner = "with torch.no_grad():\n" + indent(body, "    ") if without_grad else body
    return HEAD + "def main(model, xs, x, y, loss_of):\n" + indent(compile + inner, "    ")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (COLLECT + "return torch.stack(outs).sum()", 10),
        (COLLECT + "outs = torch.cat(outs)", 10),
        (COLLECT + "for out in outs:\n    print(out.sum())", 10),
        (COLLECT + "return {'all': outs}", 10),
        (
            "outs = []\nfor x in xs:\n    out = fast(x)\n    logits = out.logits[:, -1]\n    outs.append(logits)\nreturn outs",
            12,
        ),
        ("outs = []\nfor x in xs:\n    a, b = fast(x)\n    outs += [b]\nreturn outs", 11),
        ("outs = {}\nfor n, x in enumerate(xs):\n    outs[n] = fast(x).squeeze(1)\nreturn outs", 10),
        ("outs = {'a': []}\nfor x in xs:\n    outs['a'].append(fast(x))\nreturn torch.cat(outs['a'])", 10),
        ("outs = [fast(x) for x in xs]\nreturn torch.cat(outs)", 8),
        ("return torch.cat([fast(x)[0] for x in xs])", 8),
        (
            "outs = []\nfor x in xs:\n    torch.compiler.cudagraph_mark_step_begin()\n    outs.append(fast(x))\nreturn outs",
            11,
        ),
    ],
)
def test_lists_that_are_read_behind_the_loop(tmp_path: Path, body: str, line: int) -> None:
    assert found(tmp_path, main(body)) == [(line, "certain")]


@pytest.mark.parametrize(
    "body",
    [
        COLLECT.replace("fast(x)", "fast(x).clone()") + "return outs",
        COLLECT.replace("fast(x)", "fast(x).cpu()") + "return outs",
        COLLECT.replace("fast(x)", "fast(x).float()") + "return outs",
        COLLECT.replace("fast(x)", "fast(x) * 1") + "return outs",
        COLLECT.replace("fast(x)", "fast(x).logits.argmax(-1)") + "return outs",
        COLLECT.replace("outs.append(fast(x))", "out = fast(x)\n    out = out.float()\n    outs.append(out)")
        + "return outs",
        COLLECT + "    break\nreturn outs",
        COLLECT + "return len(outs)",
        COLLECT + "return outs[-1]",
        COLLECT + "print([out.shape for out in outs])",
        COLLECT + "    print(outs)\n    outs.clear()\nreturn outs",
        "for x in xs:\n    outs = []\n    outs.append(fast(x))\n    print(torch.stack(outs))",
        "torch.compiler.cudagraph_mark_step_begin()\n" + COLLECT + "return outs",
        "outs = torch.empty(4, 4)\nfor n, x in enumerate(xs):\n    outs[n] = fast(x)\nreturn outs",
        "total = 0\nfor x in xs:\n    total += fast(x).detach()\nreturn total",
        "return sum(fast(x) for x in xs)",
        "[fast(x) for _ in range(3)]\nreturn fast(x)",
        "outs = [fast(x) for x in [y]]\nreturn torch.cat(outs)",
        "outs = []\nfor fast in xs:\n    outs.append(fast(x))\nreturn outs",
    ],
)
def test_lists_of_copies_and_lists_that_are_not_read(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, main(body)) == []


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("a = fast(x)\nb = fast(y)\nreturn (a - b).abs()", 8),
        ("a = fast(x)\nreturn a - fast(y)", 8),
        ("return fast(x) - fast(y)", 8),
        ("return torch.stack([fast(x), fast(y)])", 8),
        ("a = fast(x)\nfor each in xs:\n    b = fast(each)\nreturn a", 8),
        ("a = fast(x)\nb = fast(y)\nif b is not None:\n    print(a.sum())", 8),
        (
            "prev = None\nfor x in xs:\n    out = fast(x)\n    if prev is not None:\n        print(out - prev)\n    prev = out",
            10,
        ),
    ],
)
def test_names_that_are_read_after_the_next_call(tmp_path: Path, body: str, line: int) -> None:
    assert found(tmp_path, main(body)) == [(line, "certain")]


@pytest.mark.parametrize(
    "body",
    [
        "a = fast(x).clone()\nb = fast(y)\nreturn a - b",
        "a = fast(x)\nprint(a.sum())\nb = fast(y)\nprint(b.sum())",
        "a = fast(x)\nb = fast(a * 2)\nreturn b",
        "ema = fast(x)\nfor x in xs:\n    ema = 0.9 * ema + 0.1 * fast(x)\nreturn ema",
        "a = fast(x)\ntorch._dynamo.reset()\nb = fast(y)\nreturn a - b",
        "a = fast(x)\nb = fast(y)\nprint(a.shape, b)",
        "if y:\n    a = fast(x)\nelse:\n    a = fast(y)\nreturn a",
        "a = fast(x)\nif y:\n    return fast(y)\nreturn a",
        "a = model(x)\nb = fast(x)\nreturn a - b",
        "torch.compiler.cudagraph_mark_step_begin()\na = fast(x)\nb = fast(y)\nreturn a - b",
        "prev = x\nfor x in xs:\n    out = fast(x)\n    print(out - prev)\n    prev = out.clone()",
        "a = fast(x)\na = a.clone()\nb = fast(y)\nreturn a - b",
    ],
)
def test_names_that_are_read_before_or_hold_copies(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, main(body)) == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (COLLECT + "    loss_of(x).backward()\nreturn outs", [9]),
        (
            "for x in xs:\n    out = fast(x)\n    out.sum().backward()\n    if y:\n        print(prev)\n    prev = out.detach()",
            [8],
        ),
        (COLLECT + "return outs", []),
        (COLLECT + "torch.stack(outs).sum().backward()", []),
        (COLLECT + "    if y:\n        loss_of(x).backward()\nreturn outs", []),
        ("a = fast(x)\nb = fast(y)\nloss_of(a, b).backward()", []),
        ("with torch.enable_grad():\n    a = fast(x)\n    b = fast(y)\nprint(a, b)", []),
    ],
)
def test_outputs_wait_for_their_backward(tmp_path: Path, body: str, lines: list[int]) -> None:
    assert [line for line, _ in found(tmp_path, main(body, without_grad=False))] == lines


@pytest.mark.parametrize(
    ("compile", "confidence"),
    [
        ("fast = torch.compile(model.to('cuda:0'), mode='max-autotune')\n", "certain"),
        ("fast = torch.compile(model, mode='reduce-overhead')\n", "likely"),
        ("fast = torch.compile(model.to(y), backend='cudagraphs')\n", "likely"),
        ("fast = model.cuda()\nif y:\n    fast = torch.compile(fast, mode='reduce-overhead')\n", "likely"),
        ("fast = torch.compile(model.cuda(), mode='reduce-overhead') if y else model\n", "likely"),
        ("fast = torch.compile(model, options={'triton.cudagraphs': True})\n", "likely"),
        ("fast = torch.compile(model.to('cpu'), mode='reduce-overhead')\n", ""),
        ("fast = torch.compile(nn.Linear(4, 4), mode='reduce-overhead')\n", ""),
        ("fast = torch.compile(model.cuda(), mode='max-autotune-no-cudagraphs')\n", ""),
        ("fast = torch.compile(model.cuda())\n", ""),
        ("fast = torch.compile(model.cuda(), backend='eager', mode='reduce-overhead')\n", ""),
        ("fast = torch.compile(model.cuda(), mode='reduce-overhead', disable=y)\n", "likely"),
        ("fast = torch.compile(model.cuda(), mode='reduce-overhead', disable=True)\n", ""),
    ],
)
def test_what_uses_cuda_graphs(tmp_path: Path, compile: str, confidence: str) -> None:
    assert [each for _, each in found(tmp_path, main(COLLECT + "return outs", compile))] == [confidence] * bool(
        confidence
    )


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (
            "def predict(fast, x):\n    return fast(x).logits\n\n\ndef main(model, xs):\n"
            "    fast = torch.compile(model.cuda(), mode='max-autotune')\n    outs = []\n"
            "    with torch.inference_mode():\n        for x in xs:\n            outs.append(predict(fast, x))\n"
            "    return torch.stack(outs)\n",
            14,
        ),
        (
            "@torch.no_grad()\ndef predict(fast, x):\n    out = fast(x)\n    return out.detach()\n\n\ndef main(model, x, y):\n"
            "    fast = torch.compile(model.cuda(), mode='max-autotune')\n"
            "    a = predict(fast, x)\n    b = predict(fast, y)\n    return a + b\n",
            13,
        ),
        (
            "@torch.no_grad()\ndef collect(fast, xs):\n    outs = []\n    for x in xs:\n        outs.append(fast(x))\n"
            "    return outs\n\n\ndef main(model, xs):\n"
            "    return collect(torch.compile(model.cuda(), mode='reduce-overhead'), xs)\n",
            9,
        ),
        (
            "class Runner:\n    def __init__(self, model):\n        model.cuda()\n"
            "        self.model = torch.compile(model, mode='reduce-overhead')\n\n    def one(self, x):\n"
            "        return self.model(x)\n\n    @torch.inference_mode()\n    def run(self, xs):\n"
            "        return torch.stack([self.one(x) for x in xs])\n",
            15,
        ),
        (
            "@torch.compile(mode='reduce-overhead')\ndef g(x):\n    return x * 2\n\n\n@torch.no_grad()\n"
            "def main(x):\n    a = g(x.cuda())\n    b = g(x)\n    torch.testing.assert_close(a, b)\n",
            12,
        ),
    ],
)
def test_calls_in_functions_and_of_attributes(tmp_path: Path, source: str, line: int) -> None:
    assert [each for each, _ in found(tmp_path, HEAD + source)] == [line]


def test_helpers_that_give_copies_or_what_they_get(tmp_path: Path) -> None:
    helpers = "def copied(fast, x):\n    return fast(x).clone()\n\n\ndef same(x):\n    return x\n\n\n"
    body = "outs = []\nfor x in xs:\n    outs.append(copied(fast, x))\na = fast(x)\nb = same(a)\nprint(a, b, outs)"
    assert found(tmp_path, main(body).replace("def main", helpers + "def main")) == []


OTHER = COMPILE + "other = torch.compile(y.cuda(), mode='max-autotune')\n"


@pytest.mark.parametrize(
    ("body", "compile", "lines"),
    [
        ("a = fast(x)\nb = other(x)\nprint(a - b)", OTHER, [9]),
        ("with torch.no_grad():\n    a = fast(x)\nloss_of(a, other(x)).backward()", OTHER, [9]),
        ("with torch.no_grad():\n    a = fast(x)\nb = other(x)\nloss_of(a, b).backward()", OTHER, [9]),
        ("with torch.no_grad():\n    a = fast(x).clone()\nb = other(x)\nloss_of(a, b).backward()", OTHER, []),
        ("b = other(x)\nwith torch.no_grad():\n    a = fast(x)\nloss_of(a, b).backward()", OTHER, []),
        ("a = fast(x)\nb = other(x)\nprint(a - b)", OTHER.replace("max-autotune", "default"), []),
    ],
)
def test_graphs_of_several_models_share_their_memory(tmp_path: Path, body: str, compile: str, lines: list[int]) -> None:
    without_grad = "with torch" not in body
    assert [line for line, _ in found(tmp_path, main(body, compile, without_grad))] == lines


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("torch.set_grad_enabled(False)\n" + COLLECT + "return torch.stack(outs)", [10]),
        ("torch.set_grad_enabled(False)\na = fast(x)\nb = fast(y)\nprint(a - b)", [8]),
        ("torch.set_grad_enabled(False)\ntorch.set_grad_enabled(True)\na = fast(x)\nb = fast(y)\nprint(a - b)", []),
        ("if y:\n    torch.set_grad_enabled(False)\na = fast(x)\nb = fast(y)\nprint(a - b)", []),
        ("a = fast(x)\nb = fast(y)\ntorch.set_grad_enabled(False)\nprint(a - b)", []),
    ],
)
def test_gradients_that_a_statement_switches_off(tmp_path: Path, body: str, lines: list[int]) -> None:
    assert [line for line, _ in found(tmp_path, main(body, without_grad=False))] == lines


def test_gradients_that_a_module_switches_off(tmp_path: Path) -> None:
    source = main("a = fast(x)\nb = fast(y)\nprint(a - b)", without_grad=False)
    assert [line for line, _ in found(tmp_path, source)] == []
    source = source.replace("\n\n\n", "\n\ntorch.set_grad_enabled(False)\n\n\n", 1)
    assert [line for line, _ in found(tmp_path, source)] == [9]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("for _ in range(10):\n    y = fast(y)\nreturn y", [9]),
        ("for _ in range(10):\n    y = fast(y, y)[0]\nreturn y", [9]),
        ("for x in xs:\n    y, z = fast(x, z)\nreturn y", [9]),
        ("for x in xs:\n    y = fast(x, cache=y).logits\nreturn y", [9]),
        ("a = fast(x)\nb = other(a)\nreturn b", [10]),
        ("return other(fast(x).detach())", [9]),
        ("for _ in range(10):\n    y = fast(y.clone())\nreturn y", []),
        ("for _ in range(10):\n    y = fast(y).clone()\nreturn y", []),
        ("for _ in range(10):\n    y = y - fast(y)\nreturn y", []),
        ("for _ in range(10):\n    y = fast(y).argmax(-1)\nreturn y", []),
        ("for _ in range(10):\n    torch.compiler.cudagraph_mark_step_begin()\n    y = fast(y)\nreturn y", []),
        ("a = fast(x)\nb = other(a.clone())\nreturn b", []),
        ("a = fast(x)\nb = other(a * 2)\nreturn b", []),
        ("a = fast(x)\nb = loss_of(a)\nreturn b", []),
        ("with torch.enable_grad():\n    a = fast(x)\n    b = other(a)\nreturn b", []),
        ("for fast in xs:\n    x = fast(x)\nreturn x", []),
    ],
)
def test_outputs_that_the_next_call_is_given(tmp_path: Path, body: str, lines: list[int]) -> None:
    compile = OTHER if "other" in body else COMPILE
    assert found(tmp_path, main(body, compile)) == [(line, "likely") for line in lines]


def test_calls_with_gradients_are_likely(tmp_path: Path) -> None:
    body = COLLECT + "    loss_of(x).backward()\nreturn outs"
    assert found(tmp_path, main(body, without_grad=False)) == [(9, "likely")]
