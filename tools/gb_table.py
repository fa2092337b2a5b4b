"""The table that ``graphdoctor explain`` uses where torch is not installed, from the installed torch's registry.

    python tools/gb_table.py > graphdoctor/breaks/graph_breaks.json

Nothing of torch is imported. ``tests/test_registry.py`` holds that the table is what this prints.
"""

from __future__ import annotations

import json
import sys

from graphdoctor.breaks.registry import Registry, installed


def table(registry: Registry) -> str:
    """``registry``, which is not empty, as JSON with one line an id."""
    [torch] = {entry.torch for entry in registry.values()}
    rows = (
        f"{json.dumps(gb_id)}: {json.dumps([entry.gb_type, entry.explanation, entry.hints, entry.kinds])}"
        for gb_id, entry in sorted(registry.items())
    )
    return f'{{"torch": {json.dumps(torch)}, "breaks": {{\n' + ",\n".join(rows) + "\n}}\n"


if __name__ == "__main__":
    found = installed()
    if not found:
        sys.exit("gb_table: there is no torch, or its registry of graph breaks cannot be read")
    sys.stdout.write(table(found))
