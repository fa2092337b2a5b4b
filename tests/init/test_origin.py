"""Which repositories an action can be used from."""

from __future__ import annotations

import pytest

from graphdoctor.init.origin import Origin


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/acme/graphdoctor", "acme/graphdoctor"),
        ("https://github.com/acme/graphdoctor.git", "acme/graphdoctor"),
        ("git@github.com:acme/graph.doctor.git", "acme/graph.doctor"),
        ("ssh://git@github.com/acme/graphdoctor", "acme/graphdoctor"),
        ("https://gitlab.com/acme/graphdoctor", None),
        ("https://evil.example/github.com/acme/graphdoctor", None),
    ],
)
def test_the_name_on_github(url: str, name: str | None) -> None:
    assert Origin(url, "v1").github == name
