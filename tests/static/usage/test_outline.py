"""What the text of a module says of its functions."""

import re

import pytest

from graphdoctor.static.usage.outline import concerns_compiler, used_among, used_names


@pytest.mark.parametrize(
    ("text", "concerned"),
    [
        ("model = torch.compile(model)", True),
        ("model.compile()", True),
        ("from torch import nn, compile", True),
        ("torch._dynamo.config.cache_size_limit = 4", True),
        ("Accelerator(dynamo_backend='inductor')", True),
        ("WORD = re.compile('a')", False),
        ("from utils import compile_compatible_cache", False),
        ("if torch.compiler.is_compiling():\n    pass", False),
        ("kernel = torch.compiler.disable(kernel)", False),
        ("x = y  # torch.compile needs this", False),
        ('def f():\n    """Works with torch.compile(net)."""', False),
        ("log.warning('torch.compile(net) is slow here')", False),
        ("""name = "it's"\nnet = torch.compile(net)  # 'fast'""", True),
    ],
)
def test_what_concerns_the_compiler(text: str, concerned: bool) -> None:
    assert concerns_compiler(text) is concerned


def test_names_that_are_used_are_found_one_by_one_as_all_are_together() -> None:
    code = """
from kit import (call, read, Base, first, named, decorate, plain, inner_call)
class Net(Base):
    @decorate
    def run(self, x, kind: plain = 1):
        return call (x) + read.it + use(first, second=named) + my_plain(x) + plain + (x, plain)
"""
    assert used_among(re.findall(r"\w+", code), code) == used_names(code)
    assert used_among({"call", "Base", "plain", "first", "named"}, code) == {"call", "first", "named"}
