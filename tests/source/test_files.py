"""Source files as text."""

from __future__ import annotations

import pytest

from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import decode


@pytest.mark.parametrize("name", ["undefined", "punycode", "idna", "hex", "rot13", "no_such_encoding"])
def test_an_encoding_that_does_not_fit_costs_the_file_only(name: str) -> None:
    with pytest.raises(SourceError, match="cannot be decoded"):
        decode(f"# -*- coding: {name} -*-\nx = '\xe4'\n".encode("latin-1"))
