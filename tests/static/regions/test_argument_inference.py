"""What the body of a function shows of its parameters."""

from __future__ import annotations

import libcst as cst
import pytest

from graphdoctor.lint import engine
from graphdoctor.static.regions.argument_inference import described, described_as_numbers, keyed, uses


@pytest.mark.parametrize(
    ("code", "tensor"),
    [
        ("torch.exp(x)", True),
        ("torch.linalg.norm(x)", True),
        ("F.relu(x)", True),
        ("x.split(2)", True),
        ("x.log()", True),
        ("x[x > 0]", True),
        ("x[y > 0]", False),
        ("x.sort(descending=True)", True),
        ("x.sort(reverse=True)", False),
        ("y[~x]", True),
        ("y[x]", False),
        ("y[x.bool()]", True),
        ("x[len(x) > 0]", False),
        ("torch.linspace(x, 1, 4)", False),
        ("torch.nn.Linear(x, 4)", False),
        ("torch.nn.functional.relu(x)", True),
        ("torch.cuda.set_device(x)", False),
        ("torch.einsum(x, a, b)", False),
        ("x.split('=')", False),
        ("x.add(4)", False),
        ("x.log('done')", False),
        ("open(x.log)", False),
        ("g(x.shape)", True),
    ],
)
def test_only_what_tensors_alone_are_used_for_is_evidence(code, tensor):
    module = cst.parse_module(f"def f(x):\n    return {code}\n")
    function = module.body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[0]) is tensor


@pytest.mark.parametrize(
    ("index", "masks"),
    [
        ("mask", {"mask"}),
        ("fg_mask, :", {"fg_mask"}),
        ("~padding", {"padding"}),
        ("masked", set()),
        ("mask_token", set()),
        ("mask + 1", set()),
    ],
)
def test_an_index_that_is_called_a_mask_is_a_tensor(index, masks):
    function = cst.parse_module(f"def f(y):\n    return y[{index}]\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert uses(function.body)[0] == masks


FUNCTION = """\
import torch

class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, x, y):
        ctx.x = x
        if ctx.x:
            z = z + 1
        {}
"""


@pytest.mark.parametrize(
    ("lines", "tensor"),
    [
        ("x = torch.empty(0)\n        return x.clone()", False),
        ("y = x.clone()\n        x = torch.empty(0)\n        return x.clone()", True),
        ("x = x * 2\n        return x.clone()", True),
        ("if y:\n            x = torch.empty(0)\n        return x.clone()", True),
    ],
)
def test_what_gets_another_value_is_judged_by_its_uses_before(tmp_path, lines, tensor):
    file = tmp_path / "model.py"
    file.write_text(FUNCTION.format(lines))
    found = engine.analyse([(file, "model.py")]).findings
    assert [f.rule for f in found if f.location.line == 7] == (["GD201"] if tensor else [])


@pytest.mark.parametrize(
    ("code", "against"),
    [
        ("{k: v for k, v in zip(x, y)}", True),
        ("{k: 1 for k in x}", True),
        ("{v: k for k, v in zip(x, y)}", False),
        ("{f(k): 1 for k in x}", False),
        ("{1: k for k in x}", False),
    ],
)
def test_what_holds_the_keys_of_a_dict_is_no_tensor(code, against):
    function = cst.parse_module(f"def f(x, y):\n    return {code}\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[1]) is against


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x (torch.Tensor): the input", {"x"}),
        ("x (Tensor, optional): the input", {"x"}),
        ("x (:class:`torch.Tensor`): the input", {"x"}),
        ("y0: N-D Tensor giving the start", {"y0"}),
        ("y0 : torch.Tensor", {"y0"}),
        (":param Tensor x: the input", {"x"}),
        (":param x: a tensor", {"x"}),
        (":type x: torch.Tensor", {"x"}),
        (":param int n: how many tensors", set()),
        ("rtol: optional float64 tensor", {"rtol"}),
        ("xs (List[Tensor]): the inputs", set()),
        ("func: Function that maps a scalar Tensor to a Tensor", set()),
        ("n (int): how many tensors", set()),
        ("Returns a Tensor: always", set()),
    ],
)
def test_what_a_docstring_calls_a_tensor(line, found):
    source = f'def f(x, y0):\n    """Solve it.\n\n    Args:\n        {line}\n    """\n    return x\n'
    function = cst.parse_module(source).body[0]
    assert described(function.body) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x (bool): whether it is real", {"x"}),
        ("x (float, optional): the weight. Default: 1.0.", {"x"}),
        ("x(int,optional): the number of steps", {"x"}),
        ("x : bool, optional", {"x"}),
        ("x: int", {"x"}),
        (":param bool x: whether it is real", {"x"}),
        (":type x: bool", {"x"}),
        ("x (bool | Tensor): the target", set()),
        ("x (float, or a tensor of weights): the weight", set()),
        ("x (list[int]): the sizes", set()),
        ("x: int tensor of the classes", set()),
        ("x: float values of each row", set()),
        ("x (Tensor): of kind (bool)", set()),
    ],
)
def test_what_a_docstring_calls_a_number_or_a_flag(line, found):
    source = f'def f(x, y0):\n    """Solve it.\n\n    Args:\n        {line}\n    """\n    return x\n'
    function = cst.parse_module(source).body[0]
    assert described_as_numbers(function.body) == found


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("y = x['mask'].sum()", {"x"}),
        ("if 'mask' in x and 'k' not in z:\n    pass", {"x", "z"}),
        ("y = {k: v for k, v in x.items()}", {"x"}),
        ("y = x[0]['mask']", set()),
        ("y = 'mask' in x.names", set()),
        ("y = x[mask] + x.sum()", set()),
    ],
)
def test_what_has_texts_as_keys_is_a_mapping(code, names):
    assert keyed(cst.parse_module(code).body[0]) == names


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("y.shape[x]", True),
        ("y.sum(dim=x)", True),
        ("torch.cat(ys, axis=-x)", False),
        ("y.shape[0] + y[x]", False),
        ("f(mask=x)", False),
    ],
)
def test_what_names_a_dimension_is_a_number(code, number):
    function = cst.parse_module(f"def f(x, y):\n    return {code}\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[1]) is number


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("torch.arange(x, device=y.device)", True),
        ("y.view(2 * x, -1)", True),
        ("torch.zeros((x, 3))", True),
        ("F.interpolate(y, size=(x, x))", True),
        ("torch.arange(len(x))", False),
        ("y.view(x.shape)", False),
        ("torch.full((2,), x)", False),
        ("linear(y).split(x)", False),
    ],
)
def test_what_is_a_size_is_a_number(code, number):
    function = cst.parse_module(f"def f(x, y):\n    return {code}\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[1]) is number


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("n, d = y.shape\n    return int(n * x)", True),
        ("n = y.size(1)\n    return int((1 - x) * n)", True),
        ("n = len(y)\n    return int(x * n)", True),
        ("n = y.shape[0]\n    return int(n * d * x)", False),
        ("n = y.sum()\n    return int(n * x)", False),
        ("n = y.shape[0]\n    return round(n * x)", False),
    ],
)
def test_what_says_how_much_of_a_size_is_a_number(code, number):
    function = cst.parse_module(f"def f(x, y, d):\n    {code}\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[1]) is number


@pytest.mark.parametrize(
    ("test", "replaced"), [("not x", True), ("not y", False), ("not x.any()", False), ("x", False)]
)
def test_what_is_replaced_where_it_is_empty_is_a_list(test, replaced):
    code = f"def f(x, y):\n    if {test}:\n        x = []\n    x[0] = x[0].permute(1, 0)\n    return torch.exp(x)\n"
    function = cst.parse_module(code).body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[0]) is not replaced


@pytest.mark.parametrize(
    ("condition", "number"),
    [
        ("x % 100 == 0", True),
        ("y is None or (x + 1) % every == 0", True),
        ("x % 2", True),
        ("x.sum() % 2 == 0", False),
        ("y % x == 0", False),
    ],
)
def test_what_is_asked_like_a_counter_is_a_number(condition, number):
    function = cst.parse_module(f"def f(x, y):\n    if {condition}:\n        y = g(x)\n    return y\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[1]) is number


@pytest.mark.parametrize(
    ("loop", "number"),
    [
        ("for i in range(5):\n        y = i % x", True),
        ("for i in range(1, y):\n        if not (i + 1) % x:\n            y = g(x)", True),
        ("for i in y:\n        y = i % x", False),
        ("for i in range(5):\n        y = y % x", False),
        ("for i in range(5):\n        y = i * x", False),
    ],
)
def test_what_divides_the_round_of_a_loop_is_a_number(loop, number):
    function = cst.parse_module(f"def f(x, y):\n    {loop}\n    return y\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[1]) is number


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("x['a'] + x.get('b')", True),
        ("x.update({'c': x['a']})", False),
        ("(x.pop('a'), x['b'])", False),
        ("(x.step(), x['b'])", True),
        ("x.update(y)", True),
        ("(x.get(y), x[0])", True),
    ],
)
def test_what_has_texts_as_keys_may_be_asked_as_a_dict(code, other):
    function = cst.parse_module(f"def f(x, y):\n    return {code}\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert ("x" in uses(function.body)[1]) is other


def test_a_batch_that_is_updated_holds_tensors(tmp_path):
    file = tmp_path / "loss.py"
    file.write_text(
        "import torch\n\nclass Loss(torch.nn.Module):\n    def forward(self, data):\n"
        "        loss = data['scores'][data['gold'] == 1].mean()\n        data.update({'loss': loss})\n"
    )
    assert [(f.rule, f.location.line) for f in engine.analyse([(file, "loss.py")]).findings] == [("GD302", 5)]


def test_a_table_of_options_beside_a_batch_is_no_tensor(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, batch, options):\n"
        "        if options['verbose'] and options['steps'] > 3:\n            return batch['x'].sum()\n"
        "        return batch['x'] if batch['x'].sum() > 0 else -batch['x']\n"
    )
    assert [f.location.line for f in engine.analyse([(file, "net.py")]).findings] == [7]
