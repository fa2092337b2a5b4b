"""The pytest plugin: the assertions of ``graphdoctor.testing`` as fixtures. Imports neither torch nor the engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphdoctor import testing


@pytest.fixture(name="assert_fullgraph", scope="session")
def _assert_fullgraph() -> Callable[..., None]:
    """``assert_fullgraph(model, *args, **kwargs)``: the model compiles with fullgraph=True."""
    return testing.assert_fullgraph


@pytest.fixture(name="assert_no_graph_breaks", scope="session")
def _assert_no_graph_breaks() -> Callable[..., None]:
    """``assert_no_graph_breaks(model, *args, ignore=(), max_breaks=0, **kwargs)``."""
    return testing.assert_no_graph_breaks


@pytest.fixture(name="assert_max_recompiles", scope="session")
def _assert_max_recompiles() -> Callable[..., None]:
    """``assert_max_recompiles(model, calls, max_recompiles=0)``: ``calls`` are tuples of arguments."""
    return testing.assert_max_recompiles
