"""Which calls only write for people to read, and where a program reads what they wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

HEAD = "import builtins, contextlib, io, logging, pprint, sys, traceback, warnings\n\nimport torch\n\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"
LOGGER = "log = logging.getLogger(__name__)\n"


def program(head: str, *body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body)
    return f"{HEAD}{head}\n\ndef f(x):\n{lines}    return x\n{TAIL}"


@pytest.mark.parametrize(
    "head, body",
    [
        ("", ["print(1)"]),
        ("", ["print(1, file=None)"]),
        ("", ["print(1, file=sys.stderr)"]),
        ("", ["pprint.pprint(x.shape)"]),
        ("", ["sys.stderr.write('a')"]),
        ("", ["traceback.print_stack()"]),
        ("", ["torch.cuda.nvtx.range_push('a')"]),
        ("", ["warnings.warn('a')"]),
        ("", ["warnings.warn('a', FutureWarning, stacklevel=2)"]),
        ("", ["try:", "    print(x.shape, x)", "except KeyError:", "    pass"]),
        ("", ["try:", "    x = x + 1", "except KeyError:", "    pass", "print(x.mean())"]),
        (LOGGER, ["log.info('a')"]),
        (LOGGER, ["log.log(10, 'a')"]),
        (LOGGER, ["log.exception('a')"]),
    ],
)
def test_output_may_be_left_out(fixed: Any, head: str, body: list[str]) -> None:
    result = fixed(program(head, *body))
    assert {f.fix.safety for f in result.findings} == {"safe"}
    assert "if not torch.compiler.is_compiling():" in result.text


@pytest.mark.parametrize(
    "head, body, reason",
    [
        ("buffer = io.StringIO()", ["print(1, file=buffer)"], "what it writes to may be read by other code"),
        ("buffer = io.StringIO()", ["pprint.pprint(1, buffer)"], "what it writes to may be read by other code"),
        ("options = {}", ["print(1, **options)"], "its options are not written out"),
        ("buffer = io.BytesIO()", ["with contextlib.redirect_stdout(buffer):", "    print(1)"], "is printed"),
        ("", ["sys.stdout = x", "print(1)"], "this file also reads or replaces what is printed"),
        ("builtins.print = len", ["print(1)"], "this file also reads or replaces what is printed"),
        ("", ["warnings.simplefilter('ignore')"], "`warnings.simplefilter` changes more than what is shown"),
        ("warnings.simplefilter('error')", ["warnings.warn('a')"], "this file also reads or replaces what is warned"),
        ("", ["with warnings.catch_warnings(record=True) as seen:", "    warnings.warn('a')"], "what is warned"),
        (LOGGER, ["log.setLevel(10)"], "`log.setLevel` changes more than what is shown"),
        (LOGGER, ["logging.disable(10)"], "`logging.disable` changes more than what is shown"),
        (LOGGER + "class H(logging.Handler):\n    pass\n", ["log.info('a')"], "what is logged"),
        (LOGGER + "log.addFilter(len)", ["log.info('a')"], "this file also reads or replaces what is logged"),
        (LOGGER + "log.info = len", ["log.info('a')"], "this file also reads or replaces what is logged"),
        ("", ["try:", "    warnings.warn('a')", "except UserWarning:", "    x = x * 2"], "where it raises"),
        ("", ["try:", "    print({}['a'])", "except KeyError:", "    x = x * 2"], "where it raises"),
        ("", ["with contextlib.suppress(KeyError):", "    print({}['a'])"], "where it raises"),
        ("class C:\n    def __enter__(self):\n        pass\n    def __exit__(self, *error):\n        return True",
         ["with C():", "    print([][1])"], "where it raises"),
        ("def g(x):\n    print([][1])\n    return x", ["try:", "    x = g(x)", "except IndexError:", "    pass"],
         "where it raises, code around it goes on in another way"),
        ("from mylog import get_logger\nlog = get_logger()", ["log.info('a')"], "changes more than what is shown"),
    ],
)  # fmt: skip
def test_output_that_the_program_depends_on(fixed: Any, head: str, body: list[str], reason: str) -> None:
    source = program(head, *body)
    result = fixed(source)
    found = [f.fix for f in result.findings if f.fix is not None and f.rule in ("GD101", "GD103", "GD104")]
    assert {fix.safety for fix in found} == {"unsafe"}
    assert any(reason in fix.reason for fix in found)
    assert result.text == source


@pytest.mark.parametrize(
    "helpers, is_left_out",
    [
        ("def scaled(x):\n    return x * 2\n", True),
        ("def print(text):\n    return seen.append(text)\n\n\nseen = []\n", False),
        ("from elsewhere import *\n", False),
    ],
)
def test_a_star_import_hides_what_writes_only_where_it_may_bind_that(
    fixed: Any, tmp_path: Path, helpers: str, is_left_out: bool
) -> None:
    (tmp_path / "helpers.py").write_text(helpers)
    # The side that prints never runs, so nothing but the name says what is called.
    test = "if x.isnan().any() and DEBUG:"
    result = fixed(program("from helpers import *\n\nDEBUG = False\n", test, "    print('nan')"))
    assert ("if not torch.compiler.is_compiling()" in result.text) == is_left_out
