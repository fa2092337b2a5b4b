"""Text that is known, and the calls that hang on it."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import Const, Mapping, PythonValue, Seq
from graphdoctor.static.library_models.strings import found, joined, parts

UNKNOWN_TEXT = PythonValue("str")


def test_known_texts_are_joined_and_others_are_some_text():
    assert joined(Const("|"), (Const("a"), Const("b"))) == Const("a|b")
    assert joined(Const("|"), (Const("a"), UNKNOWN_TEXT)) == UNKNOWN_TEXT
    assert joined(UNKNOWN_TEXT, (Const("a"),)) == UNKNOWN_TEXT
    assert joined(Const(""), (Const(1),)) == UNKNOWN_TEXT
    either = join(Const("a"), Const("b"))
    assert joined(Const(""), (Const("h_"), either)) == join(Const("h_a"), Const("h_b"))
    assert joined(Const(""), (either,) * 5) == UNKNOWN_TEXT


@pytest.mark.parametrize("name", ["'h_' + kind", "f'h_{kind}'"])
def test_a_method_chosen_by_one_of_several_names_may_be_each(events, name):
    called = events(f"""
        import torch

        class Net(torch.nn.Module):
            def h_mean(self, x):
                return x.mean().item()

            def h_sum(self, x):
                return x.sum().item()

            def forward(self, x, first: bool):
                kind = "mean" if first else "sum"
                return getattr(self, {name})(x)
    """)
    read = [e.site.function for e in called if isinstance(e, Call) and e.qualname.endswith(".item")]
    assert read == ["Net.h_mean", "Net.h_sum"]


@pytest.mark.parametrize("name", ["'use_' + kind", "f'use_{kind}'", "'use_{}'.format(kind)"])
def test_a_method_chosen_by_a_name_that_is_known_in_part_is_one_that_begins_so(events, name):
    called = events(f"""
        import torch

        class Net(torch.nn.Module):
            def use_mean(self, x):
                return x.mean().item()

            def other(self, x):
                return x.sum().item()

            def forward(self, x, kind: str):
                return getattr(self, {name})(x)
    """)
    read = [e.site.function for e in called if isinstance(e, Call) and e.qualname.endswith(".item")]
    assert read == ["Net.use_mean"]


def test_the_keys_of_a_table_are_joined_where_all_are_known():
    assert list(parts(Mapping((("a", UNKNOWN_TEXT), ("b", UNKNOWN_TEXT))))) == [Const("a"), Const("b")]
    assert list(parts(Mapping((("a", UNKNOWN_TEXT),), UNKNOWN_TEXT))) == [UNKNOWN_TEXT]


def test_words_are_searched_in_known_text():
    assert found(Const("(Big|Small)"), Const("ABigSmallNet")) == Seq("list", (Const("Big"), Const("Small")))
    assert found(Const("Big"), Const("ASmallNet")) == Seq("list", ())


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)(a|a)", "(a", r"\w", "", "a||b"])
def test_other_patterns_are_not_searched_since_who_wrote_them_is_not_trusted(pattern):
    assert found(Const(pattern), Const("a" * 40)) == Seq("list", None, UNKNOWN_TEXT)


NET = """
    import re
    import torch
    from torch import nn

    def big(x):
        return x.item()

    def small(x):
        return x.tolist()

    STEPS = {"Big": big, "Small": small}

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = re.findall(f"({'|'.join(STEPS)})", self.__class__.__name__)[0]

        def forward(self, x):
            return STEPS[self.step](x)

    class ABigNet(Base):
        pass

    class ASmallNet(Base):
        pass
"""


@pytest.mark.parametrize(("name", "method"), [("ABigNet", "item"), ("ASmallNet", "tolist")])
def test_a_function_that_the_name_of_the_class_chooses_is_followed(events, name, method):
    seen = events(NET + f"\n    def graphdoctor_target():\n        return {name}(), (torch.rand(1),)\n")
    names = {e.qualname for e in seen if isinstance(e, Call) and e.qualname.startswith("torch.Tensor.")}
    assert names == {f"torch.Tensor.{method}"}
