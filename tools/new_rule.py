"""The file of a new rule, which works and is to be changed piece by piece.

    python -m tools.new_rule GD514 host-copy

It writes ``rules/host_copy.py``: a rule that finds `torch._dynamo.graph_break()`, with one example that breaks and two
that do not, so the tests of examples pass before anything is changed. A code or a name that exists is refused with one
line, and the exit code 2.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from graphdoctor.lint import catalog

RULES = Path(__file__).resolve().parent.parent / "rules"

USAGE = "usage: python -m tools.new_rule GD514 host-copy"

TEMPLATE = '''\
"""A summary in one line: what a user would call it.

What: Which code the rule finds, as precisely as its check.

Why: What Dynamo does there, and what it costs.

Fix: What to write instead.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import Hit

from ._shared import certainty, code, consequence

CODE = "{code}"
NAME = "{name}"
SEVERITY = "error"
GB_IDS = ("GB0025",)
TORCH = ">=2.6"

BREAKS = (
    """\\
import torch


def f(x):
    torch._dynamo.graph_break()  # GB0025
    return x * 2
""",
)

CLEAN = (
    """\\
def f(x):
    return x * 2
""",
    """\\
import torch


def f(x):
    if not torch.compiler.is_compiling():
        torch._dynamo.graph_break()
    return x * 2
""",
)


def watches(name: str) -> bool:
    return name == "torch._dynamo.graph_break"


def check_call(event: Call) -> Hit | None:
    return Hit(event, f"{{code(event)}}: {{consequence(event)}}", "what to do, in a few words", certainty(event))
'''

NEXT = """\
{file} is a rule that works. Now change, from top to bottom:
1. the text, BREAKS and CLEAN: `# GB0025` marks the line that breaks and its id; more examples in CLEAN than in BREAKS;
2. `watches` and `check_call`, or another `check_<event>`: the events are in graphdoctor/static/domain/events.py;
3. a function `fix(hit, editor)`, if there is a rewrite: CONTRIBUTING.md, "A fix".
Run its examples: python -m pytest -n 0 tests/rules/test_examples.py -k {name}
See it work:      graphdoctor explain {code}
"""


def refusal(code: str, name: str) -> str | None:
    """Why there can be no rule of this code and name, or None."""
    if not re.fullmatch(r"GD[1-9][0-9]{2}", code):
        return f"{code!r} is no code: GD and three digits, such as GD514"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        return f"{name!r} is no name: small letters and digits, joined by hyphens, such as host-copy"
    for rule in catalog.rules():
        if rule.code == code:
            return f"{code} is taken by {rule.name}"
        if rule.name == name:
            return f"{name} is the name of {rule.code}"
    return None


def main(arguments: list[str]) -> int:
    """Write the file and say what to do next: 0, or 2 where it cannot be written."""
    if len(arguments) != 2:
        print(USAGE, file=sys.stderr)
        return 2
    code, name = arguments[0], arguments[1].replace("_", "-")
    file = RULES / f"{name.replace('-', '_')}.py"
    problem = refusal(code, name)
    if problem is None:
        try:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(TEMPLATE.format(code=code, name=name))
        except FileExistsError:
            problem = f"rules/{file.name} exists"
        except OSError as error:
            problem = f"rules/{file.name} cannot be written: {error.strerror}"
    if problem is not None:
        print(f"new_rule: {problem}", file=sys.stderr)
        return 2
    print(NEXT.format(file=f"rules/{file.name}", name=name, code=code), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
