"""What the constructors of scanned classes make of their arguments."""

from __future__ import annotations

import pytest

from graphdoctor.static.events import Call

HEAD = """
        from dataclasses import dataclass
        import torch

        class Output(dict):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
"""


def items(found):
    return [e.site.function for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"]


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        pytest.param("loss: torch.Tensor = None", "Point(loss=x.sum()).loss.item()", id="generated-hides-inherited"),
        pytest.param(
            """loss: torch.Tensor = None

            def __post_init__(self):
                self.total = self.loss.item()
            """,
            "Point(loss=x.sum()).total",
            id="post-init",
        ),
    ],
)
def test_a_dataclass_fills_its_fields_whatever_init_it_inherits(events, fields, read):
    body = f"""
        @dataclass
        class Point(Output):
            {fields}

        @torch.compile
        def f(x):
            return {read}
"""
    assert len(items(events(HEAD + body))) == 1


def test_an_init_of_the_dataclass_itself_counts(events):
    body = """
        @dataclass
        class Point(Output):
            loss: torch.Tensor = None

            def __init__(self, loss):
                self.loss = 0

        @torch.compile
        def f(x):
            return Point(x.sum()).loss.item()
"""
    assert items(events(HEAD + body)) == []
