"""``match`` statements: each program breaks under Dynamo where the static pass says so, and nowhere else."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse

HEAD = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n"

#: Bodies of ``f``; the lines that break are marked.
PROGRAMS = {
    "value on data": """\
match x.sum():
    case 3:  # breaks
        return x
    case _:
        return x + 1
""",
    "irrefutable capture": """\
match x.sum():
    case y:
        return x + y
""",
    "wildcard only": """\
match x.sum():
    case _:
        return x + 1
""",
    "const first": """\
match 'a':
    case 'a':
        return x
    case _:
        print('n')
        return x + 1
""",
    "const later": """\
match 'b':
    case 'a':
        print('n')
        return x
    case _:
        return x + 1
""",
    "const break": """\
match 'b':
    case 'a':
        return x
    case _:
        print('n')  # breaks
        return x + 1
""",
    "tensor class": """\
match x:
    case torch.Tensor():
        return x + 1
    case _:
        print('n')
        return x
""",
    "none first": """\
match x:
    case None:
        print('n')
        return x
    case _:
        return x + 1
""",
    "none break": """\
match x:
    case None:
        return x
    case _:
        print('n')  # breaks
        return x + 1
""",
    "sequence": """\
match (x, 1):
    case [a, 2]:
        print('n')
        return a
    case [a, 1]:
        return a + 1
    case _:
        print('m')
        return x
""",
    "sequence data": """\
match (x.sum(), 1):
    case [3, b]:  # breaks
        return x
    case _:
        return x + 1
""",
    "star": """\
match [x, x.sin(), x.cos()]:
    case [a, *rest]:
        return a + rest[0] + rest[1]
    case _:
        print('m')
        return x
""",
    "star data": """\
match [x, x.sin(), x.cos()]:
    case [a, *rest]:
        if rest[0].sum() > 0:  # breaks
            return a
        return a + rest[0]
    case _:
        print('m')
        return x
""",
    "guard true": """\
match x:
    case y if y.dim() == 1:
        return y + 1
    case _:
        return x
""",
    "guard data": """\
match x:
    case y if y.sum() > 0:  # breaks
        return y + 1
    case _:
        return x
""",
    "guard const false": """\
match x:
    case y if False:
        print('n')
        return y
    case _:
        return x + 1
""",
    "guard const true": """\
match x:
    case y if True:
        return y + 1
    case _:
        print('n')
        return x
""",
    "int class": """\
match 3:
    case int(n):
        return x + n
    case _:
        print('n')
        return x
""",
    "or": """\
match 'mean':
    case 'sum' | 'mean':
        return x + 1
    case _:
        print('n')
        return x
""",
    "or data": """\
match x.sum():
    case 1 | 2:  # breaks
        return x + 1
    case _:
        return x
""",
    "capture data later": """\
match x.sum():
    case y:
        if y > 0:  # breaks
            return x
        return x + 1
""",
    "tensor no sequence": """\
match x:
    case [a, b]:
        print('n')
        return a
    case _:
        return x + 1
""",
    "as": """\
match ('s', x):
    case ('s', y) as pair:
        return pair[1] + y
    case _:
        print('n')
        return x
""",
    "mapping": """\
match {'k': x}:
    case {'k': y}:
        return y + 1
    case _:
        return x
""",
    "shape": """\
match x.shape:
    case (3,):
        return x + 1
    case _:
        return x
""",
    "dim": """\
match x.dim():
    case 1:
        return x + 1
    case 2:
        return x
    case _:
        raise ValueError
""",
    "after": """\
match 'a':
    case 'a':
        y = x.sum()
    case _:
        y = 3
if y > 0:  # breaks
    return x
return x + 1
""",
    "after 2": """\
match 'b':
    case 'a':
        y = x.sum()
    case _:
        y = 3
if y > 0:
    return x
return x + 1
""",
    "unreached return": """\
match 'b':
    case 'a':
        return x
if x.sum() > 0:  # breaks
    return x
return x + 1
""",
    "string on tensor": """\
match x.sum():
    case 'a':
        return x
    case _:
        return x + 1
""",
    "none then value": """\
match None:
    case None:
        return x + 1
    case 1:
        print('n')
        return x
""",
    "true": """\
match True:
    case False:
        print('n')
        return x
    case True:
        return x + 1
""",
    "data singleton": """\
match x.sum() > 0:
    case True:
        return x
    case _:
        return x + 1
""",
    "irrefutable in loop": """\
for item in (1, 'a'):
    match item:
        case int():
            x = x + 1
        case str():
            x = x + 2
        case _:
            print('n')
return x
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_static_pass_and_dynamo_agree(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch")
    import torch

    from graphdoctor.in_process import listing

    text = HEAD + "".join(f"    {line}\n" for line in PROGRAMS[name].splitlines())
    marked = [number for number, line in enumerate(text.splitlines(), 1) if "# breaks" in line]
    file = tmp_path / "program.py"
    file.write_text(text)
    findings = analyse([(file, "program.py")]).findings
    assert sorted({f.location.line for f in findings if f.severity == "error"}) == marked
    assert all(f.fix is None or not f.fix.edits for f in findings if f.rule == "GD201" and "`match`" in f.message)
    made: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), made)
    with contextlib.redirect_stdout(io.StringIO()):
        outcome = listing.compile_and_call(made["f"], [((torch.rand(3),), {})])
    assert sorted({found.line for found in outcome.breaks}) == marked
