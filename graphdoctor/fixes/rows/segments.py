"""Attention over the parts of a packed sequence, one call for each, becomes one call with a mask of blocks."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import LINE_LENGTH
from graphdoctor.fixes.rows.segment_parts import Segments, segments_of
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_REASON = (
    "One call computes the scores between all segments and hides those of others: time and memory grow with the square "
    "of the whole length, NaN in one segment may reach the others, and dropout draws other numbers."
)
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
#: The keywords under which a function of attention takes a mask that it adds to the scores.
_MASKS = ("attention_mask", "attn_mask")
#: What is assigned has a name in front of it, or ``return``.
_FITS = LINE_LENGTH - 20


def attend_once(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.cat([attend(q, k, v) for q, k, v in zip(*(t.split(n.tolist(), 1) for t in (a, b, c)))], 1)``.

    Each step may be a statement of its own. Raises Refuse where it does not fit.
    """
    tolist = hit.place
    is_list = isinstance(tolist, cst.Call) and called(tolist) == "tolist" and isinstance(tolist.func, cst.Attribute)
    found = segments_of(tolist, editor) if is_list and isinstance(tolist, cst.Call) else None
    if found is None or not isinstance(tolist, cst.Call) or not isinstance(tolist.func, cst.Attribute):
        return Refusal("These are no lengths of the parts of a sequence that are joined again.")
    segment = editor.fresh("segment")
    call = _attention(found, editor)
    is_torch = dotted_name(call.func, editor) == _ATTENTION
    mask = segment if is_torch else f"{segment}[None, None]"
    whole = _whole(found, call, mask, editor)
    lengths, edits = _lengths(found, tolist, editor)
    lines = list(_lines(found, lengths, segment, is_torch, editor))
    edits += _written(found, lines, whole, editor)
    return FixPlan((*editor.torch_import(tolist), *edits), "unsafe", _REASON, known=("not_finite",))


def _attention(found: Segments, editor: Editor) -> cst.Call:
    """The call that gets the parts. Raises Refuse where it is none of attention, or has a mask."""
    read = [n for n in find(found.value, cst.Name) if n.value in found.names and not editor.is_label(n)]
    call = next((c for c in find(found.value, cst.Call) if read and any(a.value is read[0] for a in c.args)), None)
    code = editor.code(found.value)
    is_part = call is not None and all(n in [a.value for a in call.args] for n in read)
    if call is None or not is_part or len(read) != len(found.splits) or code.count(editor.code(call)) != 1:
        raise Refuse(f"`{code}` does more with the parts than attend")
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    is_torch = dotted_name(call.func, editor) == _ATTENTION
    if is_torch and sum(a.keyword is None for a in call.args) > 3:
        raise Refuse(f"`{code}` has a mask of its own")
    if not is_torch and not any(k in given for k in _MASKS):
        raise Refuse(f"`{code}` has no argument for a mask of attention")
    expected = {**dict.fromkeys(_MASKS, "None"), "is_causal": "False"}
    if any(k in given and editor.code(given[k]) != text for k, text in expected.items()):
        raise Refuse(f"`{code}` has a mask of its own")
    if is_torch:
        _check_dims(found, editor)
    if "#" in code:
        raise Refuse("a comment between the arguments would be lost")
    return call


def _check_dims(found: Segments, editor: Editor) -> None:
    """Raises Refuse where what is split, and joined, is not the sequence: the last dimension but one."""
    known = tensor_of(editor.value(cst.Name(found.splits[0].tensor)))
    rank = known.ndim if known is not None else None
    if found.dim != found.splits[0].dim or found.dim not in ("-2", "1", "2", *([str(rank - 2)] if rank else [])):
        raise Refuse(f"dimension {found.splits[0].dim} is not that of the sequence")


def _whole(found: Segments, call: cst.Call, mask: str, editor: Editor) -> str:
    """What is made of the parts, with ``call`` for the whole tensors and with ``mask``."""
    tensors = dict(zip(found.names, (s.tensor for s in found.splits), strict=True))
    arguments = []
    for argument in call.args:
        keyword = argument.keyword.value if argument.keyword is not None else ""
        code = mask if keyword in _MASKS else editor.code(argument.value)
        code = tensors[code] if isinstance(argument.value, cst.Name) and code in tensors else code
        arguments.append(f"{keyword}={code}" if keyword else argument.star + code)
    if not any(a.keyword is not None and a.keyword.value in _MASKS for a in call.args):
        arguments.append(f"attn_mask={mask}")
    function, value = editor.code(call.func), editor.code(found.value)
    text, indent = f"{function}({', '.join(arguments)})", editor.indent_of(editor.statement_of(found.made))
    if len(indent) + len(text) > _FITS:
        text = editor.lines(indent, f"{function}(", *(f"\t{a}," for a in arguments), ")")
    return value.replace(editor.code(call), text)


def _lengths(found: Segments, tolist: cst.Call, editor: Editor) -> tuple[str, list[Edit]]:
    """The code of the lengths, a tensor now, and what takes the place of the statements that split."""
    assert isinstance(tolist.func, cst.Attribute)
    tensor, edits = editor.code(tolist.func.value), list[Edit]()
    lengths = tensor
    made = editor.statement_of(found.made)
    for name, statement in found.bound.items():
        if statement.value is tolist:
            lengths = name
            edits.append(editor.replace(tolist, tensor))
        elif statement is not made:
            edits.append(editor.delete(statement))
    return lengths, edits


def _lines(found: Segments, lengths: str, segment: str, is_torch: bool, editor: Editor) -> Iterator[str]:
    """What makes the mask: the number of its segment for each place, and which places have the same."""
    tensor, dim = found.splits[0].tensor, found.splits[0].dim
    if not lengths.isidentifier():
        name = editor.fresh("lengths")
        yield f"{name} = {lengths}"
        lengths = name
    size = f"{tensor}.shape[{dim}]"
    yield f"torch._assert_async(({lengths} >= 0).all() & ({lengths}.sum() == {size}))"
    places = f"torch.arange({size}, device={lengths}.device)"
    yield f"{segment} = torch.bucketize({places}, {lengths}.cumsum(0), right=True)"
    same = f"{segment}[:, None] == {segment}"
    yield (
        f"{segment} = ({same}).to({tensor}.device)"
        if is_torch
        else f'{segment} = torch.where({same}, 0.0, float("-inf")).to({tensor})'
    )


def _written(found: Segments, lines: list[str], whole: str, editor: Editor) -> Iterator[Edit]:
    """The lines in front of the call for all, and the call in the place of the list or of what joins it."""
    made, indent = found.made, editor.indent_of(editor.statement_of(found.made))
    listed = next((n for n, s in found.bound.items() if s.value is made or isinstance(s.value, cst.List)), None)
    text = editor.lines(indent, *lines, "")
    if isinstance(made, cst.For):
        yield editor.replace(made, text + f"{listed} = {whole}")
        yield editor.replace(found.join, str(listed))
        return
    yield editor.insert_before(editor.statement_of(made), text)
    if listed is None:
        yield editor.replace(found.join, whole)
    else:
        yield editor.replace(made, whole)
        yield editor.replace(found.join, listed)
