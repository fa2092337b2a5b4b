"""Imports that a rewrite needs go where the file would have sorted them."""

from __future__ import annotations

from typing import Any

import pytest

from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import import_edit

USE = "\n\ndef f(x):\n    return g(x)\n"


@pytest.mark.parametrize(
    "before, after",
    [
        ("import abc\nimport os\n\nimport torch\n", "import abc\nimport math\nimport os\n\nimport torch\n"),
        ("import os\nfrom abc import ABC\n", "import math\nimport os\nfrom abc import ABC\n"),
        ("import abc\nfrom os import path\n", "import abc\nimport math\nfrom os import path\n"),
        ("from abc import ABC\n\nimport torch\n", "import math\nfrom abc import ABC\n\nimport torch\n"),
        ("import torch\n", "import math\n\nimport torch\n"),
        ("from . import parts\n", "import math\n\nfrom . import parts\n"),
        ('"""Doc."""\nfrom __future__ import annotations\n\nimport torch\n',
         '"""Doc."""\nfrom __future__ import annotations\n\nimport math\n\nimport torch\n'),
        ("import os.path as p  # paths\r\nimport torch\r\n", "import math\r\nimport os.path as p  # paths\r\nimport torch\r\n"),
        ("from math import sqrt\n", "import math\nfrom math import sqrt\n"),
        ("import math\n", "import math\n"),
        ("import abc, math\n", "import abc, math\n"),
    ],
)  # fmt: skip
def test_the_import_is_sorted(make: Any, before: str, after: str) -> None:
    use = USE.replace("\n", "\r\n") if "\r" in before else USE
    case = make(before + use)
    edits = import_edit("math", case.editor)
    assert apply(case.source, edits) == after + use


@pytest.mark.parametrize("taken", ["from maths import math\n", "import maths as math\n", "import torch\n\nmath = 3\n"])
def test_a_name_that_stands_for_something_else_is_refused(make: Any, taken: str) -> None:
    with pytest.raises(Refuse, match="the name math stands for something else in this file"):
        import_edit("math", make(taken + USE).editor)
