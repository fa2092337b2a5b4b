"""Guards that take few lines: in the test around a statement, and shared by statements that follow each other."""

from __future__ import annotations

from typing import Any

import pytest

END = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"
HEAD = "import warnings\n\nimport torch\n\n\ndef f(x, debug=True, n=3):\n    y = x * 2\n"


def program(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in (*lines, "return y")) + END


@pytest.mark.parametrize(
    "before, after",
    [
        (["if debug:", "    print(n)"], ["if debug and not torch.compiler.is_compiling():", "    print(n)"]),
        (
            ["if debug or n > 2:  # why", "    # what", "    print(n)  # how"],
            [
                "if (debug or n > 2) and not torch.compiler.is_compiling():  # why",
                "    # what",
                "    print(n)  # how",
            ],
        ),
        (["if debug: print(n)"], ["if debug and not torch.compiler.is_compiling(): print(n)"]),
        (["if (debug", "    or n):", "    print(n)"], ["if (debug", "    or n) and not torch.compiler.is_compiling():", "    print(n)"]),
        (["if n if debug else 0:", "    print(n)"], ["if (n if debug else 0) and not torch.compiler.is_compiling():", "    print(n)"]),
        (
            ["if not debug:", "    y = y + 1", "elif n > 2:", "    print(n)"],
            ["if not debug:", "    y = y + 1", "elif n > 2 and not torch.compiler.is_compiling():", "    print(n)"],
        ),
        (
            ["if not debug:", "    y = y + 1", "else:", "    print(n)"],
            ["if not debug:", "    y = y + 1", "elif not torch.compiler.is_compiling():", "    print(n)"],
        ),
        # Where the test decides more than that, or the line were too long, the guard is a line of its own.
        (
            ["if debug:", "    print(n)", "else:", "    y = y + 1"],
            ["if debug:", "    if not torch.compiler.is_compiling():", "        print(n)", "else:", "    y = y + 1"],
        ),
        (
            ["for _ in range(1):", "    y = y + 1", "else:", "    print(n)"],
            ["for _ in range(1):", "    y = y + 1", "else:", "    if not torch.compiler.is_compiling():", "        print(n)"],
        ),
        (
            [f"if debug and n < {'1' * 80}:", "    print(n)"],
            [f"if debug and n < {'1' * 80}:", "    if not torch.compiler.is_compiling():", "        print(n)"],
        ),
        # One guard holds for what follows.
        (
            ["print(n)  # a", 'warnings.warn("b")', "print(x.shape,", "      n)"],
            [
                "if not torch.compiler.is_compiling():",
                "    print(n)  # a",
                '    warnings.warn("b")',
                "    print(x.shape,",
                "          n)",
            ],
        ),
        (
            ["print(n)", "", "print(2)", "# apart", "print(3)"],
            [
                "if not torch.compiler.is_compiling():",
                "    print(n)",
                "",
                "if not torch.compiler.is_compiling():",
                "    print(2)",
                "# apart",
                "if not torch.compiler.is_compiling():",
                "    print(3)",
            ],
        ),
        (
            ["if debug:", "    print(n)", "    print(2)", "print(3)"],
            [
                "if debug:",
                "    if not torch.compiler.is_compiling():",
                "        print(n)",
                "        print(2)",
                "if not torch.compiler.is_compiling():",
                "    print(3)",
            ],
        ),
    ],
)  # fmt: skip
def test_the_guard_takes_few_lines(fixed: Any, runner: Any, before: list[str], after: list[str], capsys: Any) -> None:
    import torch

    source = program(*before)
    text = fixed(source).text
    assert text == program(*after).replace("    \n", "\n") or text == program(*after)
    x = torch.ones(2)
    for debug in (True, False):
        expected, written = runner.eager(source, x, debug), capsys.readouterr().out
        assert torch.equal(runner.eager(text, x, debug), expected) and capsys.readouterr().out == written
    assert runner.compiled(text, x, fullgraph=True).graphs == 1


def test_what_is_fixed_needs_no_further_fix(fixed: Any) -> None:
    once = fixed(program("if debug:", "    print(n)", "else:", "    print(2)", "print(3)", "print(4)")).text
    again = fixed(once)
    assert again.text == once and not again.findings
