"""The versions that a result was measured with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def versions(*packages: str) -> dict[str, str]:
    """Python, torch, graphdoctor and those of ``packages`` that are installed."""
    found = {"python": platform.python_version()}
    for package in ("torch", "graphdoctor", *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
