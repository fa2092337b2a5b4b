"""Parameters that a function gives on to others, which show what they are."""

from __future__ import annotations

from graphdoctor.static.domain.events import Convert, Truth
from tests.static.conftest import places

CHECKS = """
    def _deep(lab):
        return lab.unsqueeze(0) == 3

    def same(lab, rest):
        return _deep(lab)

    def trim(x, length):
        return x[:, 1 : 1 + length]
"""


def test_a_label_that_helpers_of_another_file_use_as_a_tensor_is_one(events):
    found = events(
        """
        import torch.nn as nn
        import checks as c

        class Loss(nn.Module):
            def forward(self, x, labels=None, weights=None):
                if labels is not None:
                    same = c.same(rest=x, lab=labels)
                    if labels > 3:
                        x = x * 2
                if weights:
                    x = x * 3
                return x
        """,
        checks=CHECKS,
    )
    assert places(found, Truth) == [9]


def test_a_length_that_a_helper_cuts_at_is_a_number(events):
    found = events(
        """
        import torch.nn as nn
        from checks import trim

        class Net(nn.Module):
            def _trim(self, x, length):
                return trim(x, length)

            def forward(self, x, length):
                return self._trim(x, length)
        """,
        checks=CHECKS,
    )
    assert places(found, Convert) == []


def test_a_number_that_a_module_counts_to_is_one(events):
    found = events("""
        import math
        import torch.nn as nn

        class Steps(nn.Module):
            def forward(self, x, n):
                for i in range(n):
                    x = x * math.exp(1.0 - i / n)
                return x

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.steps = Steps()

            def forward(self, x, n):
                return self.steps(x, n)
    """)
    assert places(found, Convert) == []
