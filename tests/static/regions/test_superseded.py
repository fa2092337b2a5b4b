"""What only a class reaches that users of its package do not get is said of no other file."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse

HELPER = "def halve(x):\n    if x.sum() > 0:\n        return x / 2\n    return x\n"
#: A source from which ``modeling.py`` is made: the same class, which does more.
SOURCE = (
    "from torch import nn\nfrom .helper import halve\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
    "        print(x)\n        return halve(x)\n"
)
MADE = "from torch import nn\n\n__all__ = ['Model']\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return x\n"
FOR_TYPE_CHECKERS = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .modeling import *\n"


@pytest.mark.parametrize(
    ("init", "source", "said"),
    [
        (FOR_TYPE_CHECKERS, SOURCE, ["modular.py"]),
        ("from .modeling import Model\n", SOURCE, ["modular.py"]),
        ("from .modeling import *\n", SOURCE, ["modular.py"]),
        ("", SOURCE, ["helper.py", "modular.py"]),
        ("from .modular import Model\n", SOURCE, ["helper.py", "modular.py"]),
        # A class that only this file has may be used from here.
        ("from .modeling import *\n", SOURCE.replace("Model", "Other"), ["helper.py", "modular.py"]),
        # What hands the class on got it from this file.
        ("from .handing import Model\n", SOURCE, ["helper.py", "modular.py"]),
    ],
)
def test_a_file_whose_classes_come_from_another_file(tmp_path, init, source, said):
    texts = {"__init__": init, "helper": HELPER, "modular": source, "modeling": MADE}
    handing = tmp_path / "model" / "handing"
    handing.mkdir(parents=True)
    (handing / "__init__.py").write_text("from ..modular import Model\n")
    files = [(tmp_path / "model" / f"{name}.py", f"{name}.py") for name in texts]
    for (file, _), text in zip(files, texts.values(), strict=True):
        file.write_text(text)
    found = analyse(files).findings
    assert sorted({each.location.path for each in found}) == said
