"""What the rules of a project import; everything in ``__all__`` is stable (docs/stable.md).

* ``Hit`` is what a check returns, ``FixPlan`` or ``Refusal`` what a fix returns.
* ``Consequence`` is what a graph break costs, which the message of a hit ends with.
* The events (``Call``, ``Truth``, ...) are what checks get; ``Site`` is where one happens.
* ``Value`` and its helpers say what is known of an argument or an operand; ``UNKNOWN`` is nothing.
* ``Editor`` makes the edits of a fix. It raises ``Refuse`` where an edit could change what the code means; a fix may
  let that pass.

May import the packages that it takes these names from. Nothing of graphdoctor imports it.
"""

from __future__ import annotations

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.consequence import Consequence
from graphdoctor.model.findings import Confidence, Edit, Location, Safety, Severity
from graphdoctor.static.domain.events import (
    ArgumentCall,
    Assert,
    Build,
    Call,
    Compile,
    CompiledCall,
    Convert,
    Decide,
    Define,
    Enter,
    Event,
    GetAttr,
    Grow,
    Import,
    Iterate,
    NeedDrawn,
    ReadGlobal,
    ReadItem,
    SetAttr,
    SetItem,
    Site,
    Specialise,
    Subscript,
    Truth,
)
from graphdoctor.static.domain.value_functions import holds_tensor, is_tensor, may_be_tensor, tensor_of
from graphdoctor.static.domain.value_functions import options as alternatives
from graphdoctor.static.domain.values import UNKNOWN, Const, Tensor, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

__all__ = [
    "UNKNOWN",
    "ArgumentCall",
    "Assert",
    "Build",
    "Call",
    "Compile",
    "CompiledCall",
    "Confidence",
    "Consequence",
    "Const",
    "Convert",
    "Decide",
    "Define",
    "Edit",
    "Editor",
    "Enter",
    "Event",
    "FixPlan",
    "GetAttr",
    "Grow",
    "Hit",
    "Import",
    "Iterate",
    "Location",
    "NeedDrawn",
    "ReadGlobal",
    "ReadItem",
    "Refusal",
    "Refuse",
    "Safety",
    "SetAttr",
    "SetItem",
    "Severity",
    "Site",
    "Specialise",
    "Subscript",
    "Tensor",
    "Truth",
    "Value",
    "alternatives",
    "holds_tensor",
    "is_tensor",
    "may_be_tensor",
    "tensor_of",
]
