"""The lines that a user pastes."""

from graphdoctor.advise.code import access, in_place


def test_numbers_are_indices() -> None:
    assert access("encoder.layer.0.mlp") == "model.encoder.layer[0].mlp"


def test_a_name_that_is_no_python_name_is_looked_up() -> None:
    assert access("blocks.stage-1") == 'model.get_submodule("blocks.stage-1")'


def test_a_container_becomes_a_loop_and_the_rest_lines() -> None:
    assert in_place(["h.0", "h.1", "head"], ["h"]) == (
        "for block in model.h:\n    block.compile()\nmodel.head.compile()"
    )


def test_a_module_whose_compile_does_nothing_has_its_forward_compiled() -> None:
    assert in_place(["net.0", "net.1", "head"], ["net"], {"net.0", "net.1"}) == (
        "for block in model.net:\n    block.forward = torch.compile(block.forward)\nmodel.head.compile()"
    )
