"""What is a region, and with which arguments it is entered."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Compile, Truth
from graphdoctor.static.domain.value_functions import may_be_tensor


def calls(found, qualname):
    return [e for e in found if isinstance(e, Call) and e.qualname == qualname]


def test_every_forward_is_a_region_when_nothing_is_compiled_explicitly(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                print(x.shape)
                return x

        def train(net, loader):
            for batch in loader:
                print(net(batch))
    """)
    assert [e.site.function for e in calls(found, "builtins.print")] == ["Net.forward"]


def test_an_explicit_region_leaves_other_forwards_alone(events):
    found = events("""
        import torch

        class Other(torch.nn.Module):
            def forward(self, x):
                print("other")
                return x

        @torch.compile
        def step(x):
            print("step")
            return x
    """)
    assert [e.site.function for e in calls(found, "builtins.print")] == ["step"]


def test_layers_may_hold_the_module_that_holds_them(events):
    found = events("""
        import torch.nn as nn

        class Layer(nn.Module):
            def __init__(self, parent):
                super().__init__()
                self.parent = parent
                self.steps = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])

            def forward(self, x):
                print(x.shape)
                return x

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([Layer(self) for _ in range(4)])

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
    """)
    assert {e.site.function for e in calls(found, "builtins.print")} == {"Layer.forward"}


def test_compile_inside_main_is_found(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                print(x)
                return x

        def main():
            model = torch.compile(Net())
            print(model(torch.rand(2)))

        if __name__ == "__main__":
            main()
    """)
    assert {e.site.function for e in calls(found, "builtins.print")} == {"Net.forward"}


def test_module_compile_and_partial_decorator_are_regions(events):
    found = events(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                return x.sum().item()

        @torch.compile(dynamic=True)
        def f(x):
            return x.mean().item()

        net = Net()
        net.compile()
        """,
        everywhere=True,
    )
    assert [e.form for e in found if isinstance(e, Compile)] == ["decorator", "method"]
    assert {e.site.function for e in calls(found, "torch.Tensor.item") if e.site.compiled} == {"f", "Net.forward"}


def test_the_sample_gives_the_arguments(events):
    found = events("""
        import torch

        def f(x, flag, n):
            if flag:
                x = x + 1
            if n > 2:
                x = x + 2
            return x if x > 0 else -x

        def graphdoctor_target():
            return f, (torch.rand(1), True), {"n": 3}
    """)
    assert [(e.context, e.value.is_known) for e in found if isinstance(e, Truth)] == [("ternary", True)]


def test_the_kernelbench_pair_is_a_region(events):
    found = events("""
        import torch

        class Model(torch.nn.Module):
            def __init__(self, size):
                super().__init__()
                self.linear = torch.nn.Linear(size, size)

            def forward(self, x):
                return self.linear(x).sum().item()

        def get_inputs():
            return [torch.rand(2, 4)]

        def get_init_inputs():
            return [4]
    """)
    assert calls(found, "torch.Tensor.item")


def test_a_class_with_its_own_call_and_a_base_that_cannot_be_seen_is_no_module(events):
    """The call of a module is that of `nn.Module`, which runs the forward."""
    found = events("""
        from layers import Layer
        from pipelines import Pipeline

        class Reader(Pipeline):
            def __call__(self, inputs):
                return [self.forward(each) for each in inputs]

            def forward(self, x):
                print("reader")

        class Louder(Reader):
            def forward(self, x):
                print("louder")

        class Scale(Layer):
            def forward(self, x):
                print("scale")
    """)
    printed = [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert printed == ["Scale.forward"]


def test_plain_classes_are_no_regions(events):
    found = events("""
        class Plain:
            def forward(self, x):
                print(x)
    """)
    assert found == []


def test_arguments_without_annotation_need_evidence_to_be_sure(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, y, flag=False, config=None):
                h = x.view(-1)
                if y > 0:
                    return h + y
                if x > 0:
                    return h
                if flag or config:
                    return h
    """)
    assert [(e.value.is_known, e.site.module.location(e.node).line) for e in found if isinstance(e, Truth)] == [
        (False, 7),
        (True, 9),
    ]


def test_annotations_say_what_arguments_are(events):
    found = events("""
        from __future__ import annotations
        import torch
        from torch import Tensor
        from typing import Optional

        class Net(torch.nn.Module):
            def forward(self, mask: Optional[Tensor], n: int, xs: list[Tensor], name: "str", z: torch.BoolTensor | None = None):
                if mask is not None and mask > 0:
                    n += 1
                if n > 3 or name == "a":
                    return xs
                if xs[0] > 0:
                    return n
                return z
    """)
    assert [e.site.module.location(e.node).line for e in found if isinstance(e, Truth)] == [9, 13]


def test_arguments_called_a_size_a_shape_or_a_number_are_no_tensors(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def forward(self, table, window_size, old_shape, *, num_tokens):
                if window_size[0] > old_shape[0] or table.shape[0] <= num_tokens:
                    return table
                if table[0] > 1:
                    return -table
                return table * 2
    """)
    assert [e.site.module.code(e.node) for e in found if isinstance(e, Truth)] == ["table[0] > 1"]


def test_an_argument_that_is_a_slice_bound_is_no_tensor_by_custom(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, height, mask):
                return x[: height * 2] if height else x[: mask.sum()] if mask else x
    """)
    assert [e.site.module.code(e.node) for e in found if isinstance(e, Truth)] == ["mask"]


@pytest.mark.parametrize(("exported", "printed"), [("__all__ = ['Net', 'Head']", 1), ("", 0)])
def test_what_a_file_exports_is_called_by_others_too(events, exported, printed):
    source = """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, mask: torch.Tensor | None = None):
                if mask is not None:
                    print(mask)
                return x

        class Head(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net()

            def forward(self, x):
                return self.net(x)
    """
    assert len(calls(events(f"{source}\n        {exported}\n"), "builtins.print")) == printed


def test_what_is_exported_is_not_entered_again_where_its_callers_pass_all(events):
    found = events("""
        import torch

        __all__ = ["Net", "Head"]

        class Net(torch.nn.Module):
            def forward(self, x, mask: torch.Tensor | None = None):
                return torch.cat([x]) if mask is None else x

        class Head(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net()

            def forward(self, x, mask: torch.Tensor | None = None):
                return self.net(x, mask)
    """)
    assert len(calls(found, "torch.cat")) == 1


def test_an_argument_that_calls_give_a_flag_is_no_tensor(events):
    found = events("""
        import torch

        __all__ = ["Block", "Net"]

        class Block(torch.nn.Module):
            def forward(self, x, scale, verbose):
                return x * scale if verbose else x

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()

            def forward(self, x, verbose: bool = False):
                return self.block(x, None, verbose)
    """)
    assert [e.value for e in found if isinstance(e, Truth) and may_be_tensor(e.value)] == []


def test_what_a_constructor_leaves_out_by_default_may_be_given(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def __init__(self, width: int | None = None, depth: int = 1):
                super().__init__()
                self.extra = None
                if width is not None:
                    self.extra = torch.nn.Linear(width, 8)
                self.deep = depth > 1

            def forward(self, x):
                if self.extra is not None:
                    print("given")
                if self.deep:
                    print("deep")
                return x
    """)
    [given] = calls(found, "builtins.print")
    assert given.args[0].value == "given" and given.site.conditional


def test_an_attribute_set_on_both_sides_of_a_branch_may_be_either(events):
    found = events("""
        import torch

        class Net(torch.nn.Module):
            def __init__(self, config):
                super().__init__()
                if config.pooled:
                    self.pooler = torch.nn.Linear(8, 8)
                else:
                    self.pooler = None

            def forward(self, x):
                if self.pooler is not None:
                    print("pooled")
                else:
                    print("plain")
                return x
    """)
    assert [e.args[0].value for e in calls(found, "builtins.print")] == ["pooled", "plain"]


def test_a_part_that_gets_what_is_not_known_is_entered_with_a_tensor(events):
    found = events("""
        import torch
        from elsewhere import prepare

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Part()

            def forward(self, x):
                return self.part(prepare(x))

        class Part(torch.nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x
    """)
    assert [e.site.function for e in found if isinstance(e, Truth) and may_be_tensor(e.value)] == ["Part.forward"]


def test_what_an_override_does_with_an_optional_argument_is_evidence(events):
    found = events("""
        import torch

        class Base(torch.nn.Module):
            def forward(self, x, labels=None, options=None):
                return self.compute(x, labels, options)

        class Net(Base):
            def compute(self, x, labels, options):
                print(labels.unsqueeze(1), options.mode)
                return x
    """)
    (event,) = calls(found, "builtins.print")
    assert [may_be_tensor(argument) for argument in event.args] == [True, False]
