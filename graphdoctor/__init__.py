"""graphdoctor: makes PyTorch code ready for ``torch.compile``.

Importing the package imports neither torch, nor libcst, nor click; ``graphdoctor.api`` is the Python entry point for
scans of files, ``check`` and ``record`` those for what runs in this process.
"""

import os
from importlib import import_module

# Not from ``typing``: with ``python -m`` a file of that name in the working folder would be imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from graphdoctor.in_process.checking import check as check
    from graphdoctor.in_process.recording import record as record
    from graphdoctor.in_process.result import Result as Result

__version__ = "0.2.0"

# In a source checkout the rules lie beside the package. Looking there first, a checkout never runs another one's rules.
_checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if os.path.isfile(os.path.join(_checkout, "setup.cfg")) and os.path.isdir(os.path.join(_checkout, "rules")):
    __path__.append(_checkout)

#: Attributes that are imported on first use, with what they need.
_LAZY = {
    "check": "graphdoctor.in_process.checking",
    "record": "graphdoctor.in_process.recording",
    "load_ipython_extension": "graphdoctor.in_process.magics",
    "Result": "graphdoctor.in_process.result",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'graphdoctor' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
