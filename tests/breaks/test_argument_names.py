"""The user's names for the arguments of a wrapper."""

from __future__ import annotations

from graphdoctor.breaks.argument_names import ArgumentNames


def test_names_that_all_functions_share_are_used() -> None:
    names = ArgumentNames()
    names.add({"args[0]": "self", "args[1]": "x", "kwargs['near']": "near"}, ("net.py", 4, "forward"), "1")
    reason = "tensor 'args[1]' size mismatch at index 0. expected 4, actual 5"
    assert names.renamed(reason) == "tensor 'x' size mismatch at index 0. expected 4, actual 5"
    assert names.renamed("L['kwargs']['near'] == L['args'][0].n  # f(args[2])") == "near == self.n  # f(args[2])"
    assert names.function == ("net.py", 4, "forward")
    names.add({"args[0]": "self", "args[1]": "images"}, ("net.py", 9, "forward"), "2")
    assert names.renamed(reason) == reason
    assert names.renamed("args[0].n == 3") == "self.n == 3"
    assert names.function is None


def test_a_module_that_is_wrapped_has_the_name_of_its_class() -> None:
    names = ArgumentNames()
    names.add({"args[0]": "input", "fn": "Linear"}, ("linear.py", 9, "forward"), "1")
    reason = "tensor 'fn._parameters['bias']' requires_grad mismatch. expected requires_grad=1"
    assert names.renamed(reason) == reason.replace("fn.", "Linear.")
    assert names.renamed("L['fn'].training == 1  # self.fn.x, fnord.y") == "Linear.training == 1  # self.fn.x, fnord.y"
    names.add({"fn": "Sequential"}, ("container.py", 9, "forward"), "2")
    assert (names.renamed(reason), names.modules) == (reason, ["Linear", "Sequential"])
