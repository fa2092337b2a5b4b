"""Checks of tensor data that raise: kept as they are in eager, part of the graph under compile.

Measured on torch 2.13: ``torch._assert_async(bool_tensor, "literal")`` and ``assert tensor, "literal"`` trace by
default and with ``fullgraph=True``, and raise RuntimeError when they fail. A message that is not constant breaks; an
f-string that only puts in texts is constant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions, conjuncts
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.try_blocks import unhandled
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.model.findings import Edit, Known
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_ASSERTED = (
    "In eager nothing changes; a compiled assert that fails raises RuntimeError, not AssertionError, "
    "with constant text."
)


#: Below this number all whole numbers have a value of their own in each dtype.
_EXACT = 128
#: Comparisons of numbers, which those of tensors are like; ``is`` and ``in`` are not.
_COMPARED = (cst.Equal, cst.NotEqual, cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


def assert_in_graph(if_node: cst.If, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if <tensor>: raise E("...")`` keeps its exception in eager and becomes an assert of the graph under compile."""
    statement, named = raised(if_node.body)
    if statement is None or statement.exc is None:
        return Refusal("The branch does more than raise, so it cannot become a check inside the graph.")
    if if_node.orelse is not None:
        return Refusal("The check has an else branch, so it cannot be made inside the graph.")
    try:
        unhandled(if_node, editor)
        condition = Conditions(editor, hit).split(if_node.test)
        indent = editor.indent_of(if_node)
        imports = editor.torch_import(if_node)
        said = _text_of(statement.exc, named)
        message = _traced_text(said, editor) or _literal(_message(statement.exc, said, editor))
    except Refuse as refusal:
        return Refusal(f"The check is left as it is: {refusal}.")
    check = f"torch._assert_async({condition.negated}, {message})"
    keyword = "elif" if editor.code(if_node).startswith("elif") else "if"
    lines = [f"{keyword} torch.compiler.is_compiling():"]
    lines += _rows(f"\tif {condition.python}:", editor) if condition.python else []
    lines += _rows(f"\t\t{check}" if condition.python else f"\t{check}", editor)
    text = editor.lines(indent, *lines, "" if keyword == "elif" else "el")
    reason = (
        "In eager nothing changes; a compiled check that fails raises RuntimeError with constant text, on CUDA as a "
        "device-side assert."
    )
    edits = (*imports, editor.insert_before(if_node, text))
    known: tuple[Known, ...] = () if _checks_input(statement.exc) else ("exception",)
    return FixPlan(edits, "unsafe", reason, known, guards_output=True)


def _rows(code: str, editor: Editor) -> list[str]:
    """The lines of ``code``, all as deep as its first; a string of several lines stays as it is."""
    if '"""' in code or "'''" in code:
        return [code]
    first, *others = code.split(editor.newline)
    deep = "\t" * (len(first) - len(first.lstrip("\t")))
    return [first, *(deep + row if row else row for row in others)]


def _checks_input(exception: cst.BaseExpression) -> bool:
    """Whether it says that what was passed is wrong, which callers correct and do not handle by its type."""
    made = exception.func if isinstance(exception, cst.Call) else exception
    return isinstance(made, cst.Name) and made.value in _OF_INPUT


#: The exceptions that failed checks of inputs raise; in the graph it is RuntimeError.
_OF_INPUT = ("AssertionError", "Exception", "IndexError", "RuntimeError", "TypeError", "ValueError")


def constant_message(assert_node: cst.Assert, hit: Hit, editor: Editor, eager: str = "") -> FixPlan | Refusal:
    """An assert that Dynamo cannot trace gets a twin for compile, with a plain test and literal text.

    ``eager`` is what runs in eager, where that is not the assert as it is. Raises Refuse where it does not fit.
    """
    try:
        unhandled(assert_node, editor)
        checks = compiled_checks(assert_node, hit, editor)
        imports = editor.torch_import(assert_node)
        line = editor.parent(assert_node)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            raise Refuse("it shares its line with other code")
        indent = editor.indent_of(assert_node)
    except Refuse as refusal:
        return Refusal(f"The assert is left as it is: {refusal}.")
    if not eager and _is_negated_tensor(assert_node, editor):
        negated = Conditions(editor, hit).split(assert_node.test).tensor
        return FixPlan((editor.replace(assert_node.test, negated),), "unsafe", _ASSERTED, guards_output=True)
    read = None if eager else _read_number(assert_node, editor)
    if read is not None:
        return FixPlan((read,), "unsafe", _ASSERTED, guards_output=True)
    lines = [
        "if torch.compiler.is_compiling():",
        *(row for check in checks for row in _rows(f"\t{check}", editor)),
        "else:",
        *(_rows(f"\t{eager}", editor) if eager else ["\t" + editor.deepen(assert_node)]),
    ]
    edit = editor.replace(assert_node, editor.lines(indent, *lines))
    return FixPlan((*imports, edit), "unsafe", _ASSERTED, guards_output=True)


def _is_negated_tensor(node: cst.Assert, editor: Editor) -> bool:
    """``assert not x.isnan().any()`` without a message, or with a literal one: in eager ``~`` is the same as ``not``.

    A name may hold a bool of Python in another call, of which ``~`` is always true.
    """
    is_constant = node.msg is None or isinstance(node.msg, cst.SimpleString)
    if not is_constant or not isinstance(node.test, cst.UnaryOperation) or not isinstance(node.test.operator, cst.Not):
        return False
    known = editor.value(node.test.expression)
    return (
        isinstance(node.test.expression, cst.Call)
        and isinstance(known, Tensor)
        and known.dtype == "bool"
        and not known.numpy
    )


def _read_number(node: cst.Assert, editor: Editor) -> Edit | None:
    """The edit that leaves out ``.item()`` of ``assert t.item() == 0, "empty"``: the tensor compares alike.

    None for other asserts: other numbers than small whole ones are rounded to the dtype of the tensor.
    """
    test, text = node.test, node.msg
    is_constant = text is None or isinstance(text, (cst.SimpleString, cst.ConcatenatedString))
    if not is_constant or not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    if not isinstance(test.comparisons[0].operator, _COMPARED):
        return None
    read, other = test.left, test.comparisons[0].comparator
    if text is not None and any(isinstance(n, cst.FormattedString) for n in walk(text)):
        return None
    if not isinstance(read, cst.Call) or called(read) != "item" or not isinstance(read.func, cst.Attribute):
        return None
    known = editor.value(read.func.value)
    is_tensor = isinstance(known, Tensor) and not known.numpy and not read.args
    is_small = isinstance(other, cst.Integer) and int(ast.literal_eval(other.value)) < _EXACT
    name, end = editor.location(read.func.attr), editor.location(read)
    dot = read.func.dot
    is_plain = dot.whitespace_before.empty and dot.whitespace_after.empty
    if not (is_tensor and is_small and is_plain):
        return None
    return Edit(editor.path, (name.line, name.column - 1), (end.end_line, end.end_column), "")


def constant_text(node: cst.BaseExpression, editor: Editor) -> str:
    """What is constant of a message: ``f"got {x.max()}"`` gives "got <x.max()>". Empty when nothing is."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)):
        return _string(node, editor)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Modulo, cst.Add)):
        left = constant_text(node.left, editor)
        if isinstance(node.operator, cst.Add):
            return left + constant_text(node.right, editor)
        values = [e.value for e in node.right.elements] if isinstance(node.right, cst.Tuple) else [node.right]
        return _filled(left, [f"`{' '.join(editor.code(value).split())}`" for value in values])
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return _formatted(constant_text(node.func.value, editor), node, editor)
    if isinstance(node, cst.Name):
        bound = editor.assignments(editor.module.tree, node.value)
        if len(bound) == 1 and isinstance(bound[0], cst.Assign) and not names(bound[0].value):
            return constant_text(bound[0].value, editor)
    return ""


def _filled(text: str, values: list[str]) -> str:
    """``text`` with the code of the values in place of ``%d``."""
    left = iter(values)
    return _CONVERSION.sub(lambda found: "%" if found.group() == "%%" else next(left, found.group()), text)


def _formatted(text: str, call: cst.Call, editor: Editor) -> str:
    """``text`` with the code of the arguments of ``format`` in place of ``{}``, ``{0}`` and ``{name}``."""
    given = [
        (arg.keyword.value if arg.keyword else "", f"`{' '.join(editor.code(arg.value).split())}`") for arg in call.args
    ]
    values, named = [value for name, value in given if not name], {name: value for name, value in given if name}
    left = iter(values)

    def put(found: re.Match[str]) -> str:
        field = found[1]
        if field is None:
            return found[0][0]
        if field.isdigit():
            return values[int(field)] if int(field) < len(values) else found[0]
        return named.get(field, found[0]) if field else next(left, found[0])

    return text if any(arg.star for arg in call.args) else _FIELD.sub(put, text)


#: Doubled braces, or a field, with its name or number.
_FIELD = re.compile(r"\{\{|\}\}|\{(\w*)[^{}]*\}")
_CONVERSION = re.compile(r"%%|%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]")


def _string(node: cst.BaseExpression, editor: Editor) -> str:
    if isinstance(node, cst.ConcatenatedString):
        return _string(node.left, editor) + _string(node.right, editor)
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else ""
    assert isinstance(node, cst.FormattedString)
    text = ""
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            text += f"`{' '.join(editor.code(part.expression).split())}`"
        elif isinstance(part, cst.FormattedStringText):
            text += _plain(part.value, raw="r" in node.prefix.lower())
    return text


def _plain(text: str, raw: bool) -> str:
    """The text of an f-string's literal part, escapes resolved."""
    text = text.replace("{{", "{").replace("}}", "}")
    if raw or "\\" not in text:
        return text
    value = ast.literal_eval('"""' + text.replace('"', '\\"') + '"""')
    return str(value)


def _text_of(exception: cst.BaseExpression, named: Mapping[str, cst.BaseExpression]) -> cst.BaseExpression | None:
    """What the exception is made of, also where it is in one of the names that the branch gives values."""
    text = exception.args[0].value if isinstance(exception, cst.Call) and exception.args else None
    return named.get(text.value, text) if isinstance(text, cst.Name) else text


def _message(exception: cst.BaseExpression, text: cst.BaseExpression | None, editor: Editor) -> str:
    """The constant part of ``text``, the exception's message, else the code of the exception."""
    constant = constant_text(text, editor) if text is not None else ""
    return constant or " ".join(editor.code(exception).split())


def _traced_text(text: cst.BaseExpression | None, editor: Editor) -> str:
    """The code of an f-string as the message, where it puts in texts alone: those are constants of a trace."""
    if not isinstance(text, cst.FormattedString) or editor.newline in editor.code(text):
        return ""
    parts = [part for part in text.parts if isinstance(part, cst.FormattedStringExpression)]
    return editor.code(text) if parts and all(_is_text(part, editor) for part in parts) else ""


def _is_text(part: cst.FormattedStringExpression, editor: Editor) -> bool:
    """Whether a name is put in that is a parameter for a text, or the variable of a loop over texts."""
    name, function = part.expression, editor.function_of(part)
    if (
        not isinstance(name, cst.Name)
        or function is None
        or part.format_spec is not None
        or part.conversion is not None
    ):
        return False
    bound = editor.assignments(function, name.value)
    if not bound:
        params = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
        kinds = [param.annotation for param in params if param.name.value == name.value]
        return any(kind is not None and editor.code(kind.annotation) == "str" for kind in kinds)
    (loop, *others) = bound
    return not others and isinstance(loop, cst.For) and _goes_through_texts(loop, name)


def _goes_through_texts(loop: cst.For, name: cst.Name) -> bool:
    """``for name in ("a", "b")`` and ``for name, x in (("a", x), ("b", y))``."""
    if not isinstance(loop.iter, (cst.Tuple, cst.List)):
        return False
    items: list[cst.BaseExpression | None] = [element.value for element in loop.iter.elements]
    if isinstance(loop.target, cst.Tuple):
        places = [n for n, element in enumerate(loop.target.elements) if element.value.deep_equals(name)]
        rows = [item.elements if isinstance(item, (cst.Tuple, cst.List)) else () for item in items]
        items = [row[place].value if place < len(row) else None for place in places for row in rows]
    return bool(items) and all(isinstance(item, cst.SimpleString) for item in items)


def compiled_checks(node: cst.Assert, hit: Hit, editor: Editor) -> list[str]:
    """One assert for each operand of ``and``, in order: Python operands stay Python."""
    message = constant_text(node.msg, editor) if node.msg is not None else ""
    if node.msg is not None and not message:
        message = "assertion failed: " + " ".join(editor.code(node.test).split())
    if any(isinstance(n, (cst.NamedExpr, cst.Await, cst.Yield)) for n in walk(node)):
        raise Refuse("its test assigns, awaits or yields")
    conditions = Conditions(editor, hit)
    operands = conjuncts(node.test)
    kinds = [conditions.types.kind(operand) for operand in operands]
    if None in kinds[next((i for i, kind in enumerate(kinds) if kind), 0) :] and any(kinds):
        # Python after a tensor: what has to hold together may be asserted one by one.
        pairs = zip(operands, kinds, strict=True)
        tests = [conditions.boolean(operand) if kind else editor.code(operand) for operand, kind in pairs]
    else:
        condition = conditions.split(node.test)
        tests = [t for t in (condition.python, condition.tensor) if t]
    return [_compiled_check(test, _literal(message) if message else "") for test in tests]


def _compiled_check(test: str, message: str) -> str:
    """The assert of one test; Dynamo takes no choice of Python in the test of an assert."""
    if isinstance(cst.parse_expression(test), cst.IfExp):
        return f"torch._assert_async({test}{', ' if message else ''}{message})"
    return f"assert {test}, {message}" if message else f"assert {test}"


def _literal(text: str) -> str:
    """``text`` as a string literal, in double quotes where that needs no escapes."""
    quoted = repr(text)
    return quoted if '"' in text or "\\" in quoted or quoted[0] == '"' else f'"{text}"'


def raised(block: cst.BaseSuite) -> tuple[cst.Raise | None, dict[str, cst.BaseExpression]]:
    """The ``raise`` that a block ends with, and what gets a name for it before: ``msg = "..."``.

    None where the block does more.
    """
    named: dict[str, cst.BaseExpression] = {}
    for line in block.body if isinstance(block, cst.IndentedBlock) else (block,):
        for small in line.body if isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) else (line,):
            if isinstance(small, cst.Raise):
                return small, named
            target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
            if not isinstance(small, cst.Assign) or not isinstance(target, cst.Name) or target.value in named:
                return None, {}
            named[target.value] = small.value
    return None, {}


def only_statement(block: cst.BaseSuite) -> cst.CSTNode | None:
    """The statement of a block that has just one."""
    if len(block.body) != 1:
        return None
    only = block.body[0]
    if isinstance(only, cst.SimpleStatementLine):
        return only.body[0] if len(only.body) == 1 else None
    return only
