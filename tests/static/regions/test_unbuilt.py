"""Classes that compile something of their own and that nothing in the file builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

HEAD = "import torch\n\n\nclass Agent:\n"
STEP = "    def _step(self, x):\n        print(x)\n        return x + 1\n"


def lines(folder: Path, text: str) -> list[tuple[str, int]]:
    file = folder / "agent.py"
    file.write_text(text)
    return [(f.rule, f.location.line) for f in analyse([(file, file.name)]).findings if f.severity == "error"]


@pytest.mark.parametrize(
    "compiles",
    [
        "    def __init__(self, cfg):\n        if cfg.compile:\n            self._step = torch.compile(self._step)\n",
        "    def act(self, x):\n        return torch.compile(self._step)(x)\n",
        "    @property\n    def step(self):\n        return torch.compile(self._step)\n",
        "    @classmethod\n    def make(cls):\n        made = cls()\n        made._step = torch.compile(made._step)\n",
    ],
)
def test_what_a_class_compiles_is_a_region_without_an_object(tmp_path: Path, compiles: str) -> None:
    text = f"{HEAD}{compiles}\n{STEP}"
    (found,) = lines(tmp_path, text)
    assert found == ("GD101", text[: text.index("print")].count("\n") + 1)
    assert lines(tmp_path, text.replace("torch.compile", "torch.no_grad")) == []


def test_a_decorated_method_knows_what_the_constructor_made(tmp_path: Path) -> None:
    init = "    def __init__(self):\n        self.layer = torch.nn.Linear(4, 4)\n\n"
    method = "    @torch.compile\n    def f(self, x):\n        y = self.layer(x).sum()\n        y.backward()\n        return y\n"
    assert lines(tmp_path, HEAD + init + method) == [("GD501", 11)]


def test_the_forwards_of_a_library_stay_regions(tmp_path: Path) -> None:
    compiles = "    def __init__(self):\n        self._step = torch.compile(self._step)\n\n"
    net = "\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n"
    assert [rule for rule, _ in lines(tmp_path, HEAD + compiles + STEP + net)] == ["GD101", "GD101"]


def test_a_disabled_function_is_no_region(tmp_path: Path) -> None:
    disabled = (
        "import torch\n\n\n@torch.compiler.disable\ndef g(x):\n    print(x)\n    return x\n\n\nf = torch.compile(g)\n"
    )
    assert lines(tmp_path, disabled) == []


def test_what_an_object_of_a_library_wraps_is_a_region(tmp_path: Path) -> None:
    update = (
        "import torch\nfrom tensordict.nn import TensorDictModule\n\n\ndef update(x):\n    print(x)\n    return x\n\n\n"
    )
    wrapped = 'update = TensorDictModule(update, in_keys=["x"], out_keys=["y"])\nupdate = torch.compile(update)\n'
    assert lines(tmp_path, update + wrapped) == [("GD101", 6)]


@pytest.mark.parametrize(
    "compiles",
    [
        "self.block = torch.compile(self.block)",
        "self.block.forward = torch.compile(self.block.forward)",
        "self.block.compile()",
        "self.block = torch.compile(torch.nn.Sequential(self.block, torch.nn.ReLU()))",
    ],
)
@pytest.mark.parametrize("default", ["True", "False"])
def test_a_module_that_compiles_a_part_of_itself_is_code_around_it(tmp_path: Path, compiles: str, default: str) -> None:
    block = "import torch\n\n\nclass Block(torch.nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n"
    net = f"""

class Net(torch.nn.Module):
    def __init__(self, fast={default}):
        super().__init__()
        self.block = Block()
        if fast:
            {compiles}

    def forward(self, x):
        y = self.block(x)
        print(y.sum().item())
        return y


class Larger(Net):
    def extra(self):
        return 1


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        print("outside")
        return self.net(x)
"""
    assert lines(tmp_path, block + net) == [("GD101", 6)]


def test_modules_that_compile_parts_are_told_and_other_classes_are_not(tmp_path: Path) -> None:
    net = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.compile(torch.nn.Linear(2, 2))

    def forward(self, x):
        return self.layer(x)
"""
    file = tmp_path / "train.py"
    # What a trainer compiles as a whole is a model, whatever it compiles itself.
    trainer = "\n\nclass Trainer:\n    def __init__(self):\n        self.net = torch.compile(Net())\n"
    for text, expected in ((net, [("Net", True)]), (net + trainer, [("Net", False)])):
        file.write_text(text)
        regions = [found.region for found in analyse([(file, file.name)]).regions]
        assert [(region.name, region.compiles_parts) for region in regions] == expected


@pytest.mark.parametrize(
    "compiles",
    [
        "self.attend = torch.compile(flex_attention)",
        "self.forward = torch.compile(self.forward)",
        "self.compile()",
        "self.call = torch.compile(self.__call__)",
    ],
)
def test_a_module_that_compiles_a_function_of_torch_or_itself_stays_a_region(tmp_path: Path, compiles: str) -> None:
    net = f"""import torch
from torch.nn.attention.flex_attention import flex_attention


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {compiles}

    def forward(self, x):
        print(x.shape)
        return x * 2
"""
    assert lines(tmp_path, net) == [("GD101", 11)]


@pytest.mark.parametrize(
    "made",
    [
        "Config(**kwargs)",
        "Config()",
        "read(kwargs)",
    ],
)
def test_an_option_to_compile_that_is_off_may_be_on(tmp_path: Path, made: str) -> None:
    config = (
        "import dataclasses\n\nimport torch\n\n\n@dataclasses.dataclass\nclass Config:\n    compile: bool = False\n\n\n"
    )
    read = "def read(given):\n    made = Config()\n    fill(given, made)\n    return made\n\n\n"
    init = f"    def __init__(self, **kwargs):\n        self.cfg = {made}\n        if self.cfg.compile:\n"
    agent = f"class Agent:\n{init}            self._step = torch.compile(self._step)\n\n{STEP}"
    text = config + read + agent
    assert lines(tmp_path, text) == [("GD101", text[: text.index("print")].count("\n") + 1)]
    assert lines(tmp_path, text.replace("if self.cfg.compile", "if False")) == []
