"""Pickles a call without what cannot be pickled, such as the open log file of a trainer whose method is compiled.

In its place is what raises once it is used: what a call needs is told when it runs again, and not every trainer is lost
for what its method does not read.
"""

from __future__ import annotations

import copyreg
from types import FunctionType
from typing import Any, NoReturn

from graphdoctor.recorder import local_functions


class LeftOut:
    """Stands for an object of the class ``kind``."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def _raise(self, *_args: Any) -> NoReturn:
        raise RuntimeError(f"the saved call has no {self._kind}, which cannot be pickled")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_kind":
            # Copying and comparing ask for these.
            raise AttributeError(name)
        self._raise()

    __call__ = __bool__ = __len__ = __iter__ = __enter__ = __getitem__ = _raise


class Pickler(local_functions.Pickler):
    """The name under which ``torch.save`` looks for it in its ``pickle_module``."""

    def reducer_override(self, obj: Any) -> Any:
        known = super().reducer_override(obj)
        # Functions and classes are found by their names.
        if known is not NotImplemented or isinstance(obj, (type, FunctionType)) or type(obj) in copyreg.dispatch_table:
            return known
        try:
            return obj.__reduce_ex__(2)
        except Exception:
            return LeftOut, (type(obj).__name__,)
