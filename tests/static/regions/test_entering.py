"""Which function a call of an object runs."""

from __future__ import annotations

import pytest

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
