"""The choice among counted placements."""

from graphdoctor.advise.choose import choose
from graphdoctor.model.advice import Placement

WHOLE = Placement("model", "", compilations=1, share=1.0)
BROKEN = Placement("model", "", compilations=4, breaks=3, share=0.9)
BLOCKS = Placement("blocks", "", tuple("abcdefgh"), compilations=1, share=0.8)


def test_a_model_without_breaks_is_compiled_as_a_whole() -> None:
    assert choose([WHOLE, BLOCKS]) == (
        (0,),
        "The whole model compiles without a graph break. Block by block, one compilation serves all 8 blocks: try it "
        "where compiling takes long.",
    )


def test_what_other_sizes_compile_is_no_matter_of_the_blocks() -> None:
    blocks = Placement("blocks", "", tuple("abcdef"), compilations=5, later=3, share=0.8)
    assert choose([WHOLE, blocks], sizes_vary=True)[1].endswith(
        "Block by block, 2 compilations serve all 6 blocks (other sizes take 3 more): try it where compiling takes long."
    )
    assert "(later calls take 3 more)" in choose([WHOLE, blocks])[1]


def test_blocks_without_breaks_come_before_a_model_that_breaks() -> None:
    assert choose([BROKEN, BLOCKS])[0] == (1,)


def test_blocks_at_the_recompile_limit_are_not_proposed() -> None:
    at_limit = Placement("blocks", "", tuple("abcdefgh"), compilations=8, share=0.6, at_limit=True)
    parts = Placement("submodules", "", ("encoder",), compilations=1, share=0.4)
    assert choose([BROKEN, at_limit, parts])[0] == (2,)


def test_where_every_part_breaks_the_breaks_are_mended_first() -> None:
    chosen, reason = choose([BROKEN])
    assert chosen == (0,)
    assert reason.startswith("The whole model has 3 graph breaks, and so has each part that was tried")


def test_nowhere_when_nothing_runs_compiled() -> None:
    chosen, reason = choose([Placement("model", "", breaks=1, share=0.0)])
    assert chosen == ()
    assert reason.startswith("The whole model has 1 graph break, and nothing of it runs compiled")


def test_loss_and_optimizer_come_on_top_where_they_compile() -> None:
    loss = Placement("loss", "", failure="raises")
    optimizer = Placement("optimizer", "", compilations=1)
    assert choose([WHOLE, loss, optimizer])[0] == (0, 2)
