"""What a library offers besides modules."""

from __future__ import annotations

from graphdoctor.static.domain.events import Call


def test_methods_of_distributions_and_transforms_that_take_tensors_are_regions(events):
    found = events("""
        import torch
        from torch import Tensor
        from torch.distributions import Transform

        __all__ = ["Slope", "Table"]

        class Slope(Transform):
            def __init__(self, f):
                super().__init__()
                self.f = f

            def _call(self, x: Tensor):
                print("call")
                return self.f(x)

            def ladj(self, x: Tensor):
                print("slope")
                return torch.autograd.grad(self.f(x), x)[0]

            def describe(self, name):
                print(name)
                return name

        class Table:
            def lookup(self, x: Tensor):
                print("no distribution")
                return x
    """)
    assert [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == [
        "Slope._call",
        "Slope.ladj",
    ]
