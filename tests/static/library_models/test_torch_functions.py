"""What functions of torch give."""

from __future__ import annotations

from graphdoctor.static.domain.events import Call


def test_a_variable_is_the_tensor_that_it_is_made_of(events) -> None:
    found = events("""
        import torch
        from torch.autograd import Variable

        class Net(torch.nn.Module):
            def forward(self, x):
                return Variable(torch.zeros(3)).unsqueeze(0) + x
    """)
    assert [e.qualname for e in found if isinstance(e, Call)] == [
        "torch.zeros",
        "torch.autograd.Variable",
        "torch.Tensor.unsqueeze",
    ]
