"""What stands in a function that ``checkpoint`` runs."""

from tests.static.conftest import Interpret

CHECKPOINTED = """
    import torch.nn as nn
    from torch.utils.checkpoint import checkpoint

    class Net(nn.Module):
        def block(self, x):
            for _ in range(2):
                print("block")
            return x

        def forward(self, x):
            {call}
            return x
"""


def test_a_loop_in_a_checkpointed_function_is_not_what_dynamo_gives_up(events: Interpret) -> None:
    """The function is one operator of the graph, which ends at the call of ``checkpoint``."""
    source = CHECKPOINTED.format(call="x = checkpoint(self.block, x, use_reentrant=False)")
    assert {event.site.whole_frame for event in events(source)} == {None}


def test_a_loop_around_the_call_is(events: Interpret) -> None:
    source = CHECKPOINTED.format(
        call="""for _ in range(3):
                x = checkpoint(self.block, x, use_reentrant=False)"""
    )
    blocks = [event.site.whole_frame for event in events(source) if "print" in event.site.module.code(event.node)]
    assert {block and block.function for block in blocks} == {"Net.forward"}
