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
