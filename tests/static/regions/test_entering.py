"""What is entered: the function that a call of an object runs, and what a target names."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Truth


@pytest.mark.parametrize(
    ("bases", "entered"),
    [
        pytest.param("nn.Module, Action", "Net.forward", id="module-first"),
        pytest.param("Action, nn.Module", "Action.__call__", id="call-first"),
        pytest.param("Base, Action", "Net.forward", id="module-of-the-first-base"),
        pytest.param("Base, Counted", "Counted.__call__", id="call-of-another-module"),
    ],
)
def test_of_several_bases_the_first_with_a_call_is_called(events, bases, entered):
    found = events(f"""
        import torch
        from torch import nn

        class Action:
            def __call__(self, x):
                if x.sum() > 0:
                    raise NotImplementedError()

        class Counted(nn.Module):
            def __call__(self, x):
                return x if x.sum() > 0 else -x

        class Base(nn.Module):
            pass

        class Net({bases}):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net()

            def forward(self, x):
                return self.net(x)
    """)
    assert entered in {e.site.function for e in found if isinstance(e, Truth)}
    assert {e.site.function for e in found if isinstance(e, Truth)} <= {entered, "Counted.__call__"}


def test_a_named_target_is_the_region(tmp_path):
    file = tmp_path / "fn.py"
    file.write_text(
        "import torch\n\ndef generate(x):\n    print(x.shape)\n    return x\n\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n\n"
        "def net(large=False):\n    print(large)\n    return Net()\n"
    )

    def lines(target):
        return [f.location.line for f in analyse([(file, "fn.py")], target=target).findings]

    assert lines("generate") == [4]
    assert lines("Net") == lines("net") == lines(None) == lines("nothing") == [9]


def test_a_named_method_is_the_region(tmp_path):
    file = tmp_path / "sampler.py"
    file.write_text(
        "import torch\n\nclass Sampler:\n    def __init__(self, steps):\n        self.steps = steps\n\n"
        "    def sample(self, x: torch.Tensor):\n        return x if x.sum() > 0 else -x\n\n"
        "    @staticmethod\n    def show(x: torch.Tensor):\n        print(x)\n        return x\n\n"
        "class Loss(Sampler):\n    def __call__(self, x: torch.Tensor):\n        return x * x.max().item()\n\n"
        "class Net(Sampler, torch.nn.Module):\n    def forward(self, x):\n        print(x)\n        return x\n\n"
        "sampler = Sampler(3)\n"
    )

    def lines(target):
        return [f.location.line for f in analyse([(file, "sampler.py")], target=target).findings]

    assert lines("Sampler.sample") == lines("Net.sample") == lines("sampler.sample") == [8]
    assert lines("Sampler.show") == [12]
    assert lines("Loss.__call__") == [17]
    assert lines("Net.forward") == lines("Net.nothing") == lines(None) == [21]
