"""``torch.linalg.lstsq``, whose rank depends on data, as a product with the pseudo-inverse."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_REASON = (
    "The pseudo-inverse gives the same solution up to rounding; it costs more, and is less exact for large matrices."
)


def least_squares(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.linalg.lstsq(a, b).solution`` becomes ``torch.linalg.pinv(a) @ b``."""
    call = hit.place
    read = editor.parent(call)
    if not isinstance(call, cst.Call) or not isinstance(read, (cst.Attribute, cst.Subscript)):
        return Refusal("More than the solution is kept, and how much there is of the rest depends on data.")
    if editor.code(read).removeprefix(editor.code(call)) not in (".solution", "[0]"):
        return Refusal("More than the solution is kept, and how much there is of the rest depends on data.")
    if len(call.args) != 2 or any(a.keyword is not None or a.star for a in call.args):
        return Refusal("The call says how the system is solved.")
    text = f"(torch.linalg.pinv({editor.code(call.args[0].value)}) @ {editor.operand(call.args[1].value)})"
    return FixPlan((*editor.torch_import(call), editor.replace(read, text)), "unsafe", _REASON)
