from types import ModuleType

import pytest
import torch

from graphdoctor.dynamic.parent.input_specs import InputSpecError
from graphdoctor.dynamic.user_code.target import NoTarget, Target, find, of_call

HEAD = "import torch\nfrom torch import nn\n"
NET = """
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(width, 2)
    def forward(self, x, scale=1):
        return self.linear(x) * scale
"""


def target(text: str, name: str | None = None, specs: tuple[str, ...] = ()) -> Target:
    module = ModuleType("user_module")
    exec(HEAD + text, module.__dict__)
    return find(module, name, specs, torch.device("cpu"))


def called(text: str, name: str | None = None, specs: tuple[str, ...] = ()) -> torch.Tensor:
    sample = target(text, name, specs).sample("eval")
    result = sample.function(*sample.args, **sample.kwargs)
    assert isinstance(result, torch.Tensor)
    return result


@pytest.mark.parametrize(
    "text",
    [
        NET + "def graphdoctor_target(): return Net(), (torch.ones(3, 4),)",
        NET + "def graphdoctor_target(): return Net(), (torch.ones(3, 4),), {'scale': 2}",
        NET + "def graphdoctor_target(): return Net(), torch.ones(3, 4)",
        NET + "def graphdoctor_target(): return Net(), {'x': torch.ones(3, 4)}",
        NET + "def graphdoctor_target(): return torch.compile(Net()), (torch.ones(3, 4),)",
        NET.replace("Net", "Model") + "def get_inputs(): return [torch.ones(3, 4)]",
        NET.replace("Net", "Model") + "def get_inputs(): return [torch.ones(3, 5)]\ndef get_init_inputs(): return [5]",
        NET + "        \nclass Lit(Net):\n    example_input_array = torch.ones(3, 4)",
        NET + "class Hf(Net):\n    @property\n    def dummy_inputs(self): return {'x': torch.ones(3, 4)}",
        NET + "net = Net()\nnet.example_input_array = (torch.ones(3, 4),)",
    ],
)
def test_conventions(text: str) -> None:
    assert called(text).shape == (3, 2)


@pytest.mark.parametrize(
    ("text", "name", "specs"),
    [
        (NET, None, ("float32[3,4]",)),
        (NET, "Net", ("x=float32[3,4]", "scale=2")),
        (NET + "net = Net()", "net", ("float32[3,4]",)),
        (NET + "net = Net()", "net.linear", ("float32[3,4]",)),
        ("def f(x): return x", "f", ("float32[3,2]",)),
        (NET + "def f(x): return x[:, :2]\ndef graphdoctor_target(): return Net(), (torch.ones(3, 4),)", "f", ()),
        (NET + "def graphdoctor_target(): return Net(), (torch.ones(9, 4),)", None, ("float32[3,4]",)),
    ],
)
def test_target_and_inputs(text: str, name: str | None, specs: tuple[str, ...]) -> None:
    assert called(text, name, specs).shape == (3, 2)


@pytest.mark.parametrize(
    ("text", "name", "specs", "words"),
    [
        (NET, None, (), "no sample input"),
        (NET, "Nte", (), "'Nte'"),
        (NET, "Net", (), "give --input"),
        (NET.replace("width=4", "width"), "Net", ("float32[3,4]",), "does not build"),
        (NET + "class Other(Net): pass", None, ("float32[3,4]",), "Net, Other"),
        ("def graphdoctor_target(): return 3", None, (), "must return"),
        ("import torch\ndef graphdoctor_target(): return torch.nn.ReLU, (1,)", None, (), "return an object of it"),
        ("import torch\ndef graphdoctor_target(): return torch.nn.ReLU(), (1,), 3", None, (), "must be a dict"),
    ],
)
def test_nothing_to_run_is_one_clear_line(text: str, name: str | None, specs: tuple[str, ...], words: str) -> None:
    with pytest.raises(NoTarget) as caught:
        target(text, name, specs)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_spec_is_an_input_error() -> None:
    with pytest.raises(InputSpecError):
        target(NET, None, ("float99[1]",))


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (("float32[3,4]", "z=2"), "got an unexpected keyword argument 'z'; it takes x, scale"),
        (("float32[3,4]", "2", "3"), "Net.forward cannot be called so: too many positional arguments"),
        (("scale=2",), "missing a required argument: 'x'"),
    ],
)
def test_inputs_that_the_target_does_not_take_are_an_input_error(specs: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputSpecError) as caught:
        target(NET, "Net", specs)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_function_without_a_signature_takes_what_is_given() -> None:
    assert called("import torch\nrelu = torch.relu", "relu", ("float32[3,2]",)).shape == (3, 2)


def test_samples_are_fresh_and_equal() -> None:
    found = target(NET + "def graphdoctor_target(): return Net(), (torch.randn(3, 4),)")
    first, second = found.sample("train"), found.sample("eval")
    assert first.module is not None and second.module is not None
    assert first.module is not second.module
    assert (first.module.training, second.module.training) == (True, False)
    assert torch.equal(first.args[0], second.args[0])
    with torch.no_grad():
        first.args[0].zero_()
        first.module.linear.weight.zero_()
    third = found.sample("eval")
    assert third.module is not None
    assert torch.equal(third.args[0], second.args[0])
    assert torch.equal(third.module.linear.weight, second.module.linear.weight)


CLOSURE = """
def graphdoctor_target():
    seen = []
    def f(x):
        seen.append(1)
        return x + len(seen)
    return f, (torch.zeros(1),)
"""
NOT_A_LEAF = """
def graphdoctor_target():
    net = Net()
    net.other = net.linear.weight * 2
    return net, (torch.ones(3, 4),)
"""


def test_a_closure_is_built_again() -> None:
    found = target(CLOSURE)
    assert [found.sample("eval").function(torch.zeros(1)).item() for _ in range(2)] == [1, 1]


def test_what_cannot_be_copied_is_built_again() -> None:
    found = target(NET + NOT_A_LEAF)
    first, second = found.sample("eval").module, found.sample("eval").module
    assert first is not None and second is not None
    assert first is not second
    assert torch.equal(first.linear.weight, second.linear.weight)


def test_integer_inputs_stay_below_their_bound() -> None:
    sample = target("def f(x, flag): return x", "f", ("int64[100]<3", "none")).sample("eval")
    assert sample.args[0].dtype == torch.int64
    assert set(sample.args[0].tolist()) == {0, 1, 2}
    assert sample.args[1] is None


MADE = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, width, factor=1.0):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.full((width,), factor))

    def forward(self, x):
        return x * self.factor


def sample(width):
    return Net(width), (torch.ones(width),)


def scaled(factor):
    return lambda x: x * factor


def broken(width):
    return width + "1"


FACTOR = 3.0
"""


@pytest.mark.parametrize(
    ("call", "specs", "result"),
    [
        ("Net(2, factor=FACTOR)", ("x=float32[2]",), 3.0),
        ("sample(2)", (), 1.0),
        ("sample(2)", ("float32[2]",), 1.0),
        ("scaled(2)", ("float32[2]",), 2.0),
    ],
)
def test_a_call_makes_what_is_run(call: str, specs: tuple[str, ...], result: float) -> None:
    found = target(MADE, call, specs)
    sample = found.sample("eval")
    (x,) = sample.args or tuple(sample.kwargs.values())
    assert torch.equal(sample.function(x), x * result)
    assert found.name == call


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("Net()", "Net() cannot be made: Net.__init__() missing 1 required positional argument: 'width'"),
        ("Net(WIDTH)", "Net(WIDTH) cannot be made: name 'WIDTH' is not defined"),
        ("Net(2)", "Net(2) has no inputs: give --input, for example --input 'float32[8,3]'"),
        ("FACTOR.hex()", "FACTOR.hex() makes no model and no function, but str"),
    ],
)
def test_a_call_that_makes_nothing_to_run_is_one_clear_line(call: str, line: str) -> None:
    with pytest.raises(NoTarget) as caught:
        target(MADE, call)
    assert str(caught.value) == line


def test_what_raises_inside_of_the_call_is_the_users() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        target(MADE, "broken(2)")


@pytest.mark.parametrize("call", ["sample(2)", "Net(2)", "scaled(2)"])
def test_inputs_that_are_given_take_the_place_of_those_that_come_with_a_model(call: str) -> None:
    namespace = ModuleType("made")
    exec(MADE, vars(namespace))
    assert callable(of_call(namespace, call, inputs=True).function)
    with pytest.raises(NoTarget, match="makes no model and no function, but str"):
        of_call(namespace, "FACTOR.hex()", inputs=True)
