"""Loops that data skips or leaves: in one graph, with the results and gradients of eager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.fixes.tensors.count_divisors import without_zero
from graphdoctor.lint import engine
from graphdoctor.model.findings import Edit

PROGRAM = """\
import torch
import torch.nn.functional as F


def f(x, y):
{}

def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.tensor([0, 1, 1, 3]))
"""
#: The body of ``f``: what is computed of 4 rows and their classes.
FORMS = {
    "counter": "loss = x.sum() * 0\nn = 0\nfor c in range(4):\n    m = (y == c).float()\n    if m.sum() == 0:\n        continue\n"
               "    loss = loss + (x[:, c] * m).sum() / (m.sum() + 1e-6)\n    n += 1\nreturn loss / max(n, 1)",
    "counter that is asked": "loss = x.sum() * 0\nn = 0\nfor c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
                             "    loss += (x[:, c] * m).sum()\n    n += 1\nif n > 0:\n    loss = loss / n\nreturn loss",
    "two for each": "loss = x.mean()\nn = 0\nfor c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
                    "    loss = loss + (x[:, c] * m).sum()\n    n += 2\nif n > 0:\n    loss = loss / n\nreturn loss",
    "of a tuple": "loss, n = x.sum(), 0\nfor c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
                  "    loss = loss + (x[:, c] * m).sum()\n    n += 1\nreturn loss / max(n, 1)",
    "half rounds": "loss = x.new_zeros(())\nn = 0.0\nfor c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
                   "    loss = loss + (x[:, c] * m).sum()\n    n += 0.25\nif n == 0:\n    return x.sum()\nreturn loss / n",
    "what has no finite gradient": (
        "parts = []\nfor c in range(4):\n    m = (y == c).float()\n    if m.sum() == 0:\n        continue\n"
        "    parts.append((x[:, c] * m).sum() / m.sum() + (x[:, c] * m + m).sum().sqrt())\nif not parts:\n    return x.sum() * 0\n"
        "return torch.stack(parts).mean()"),
    "names of one round without finite gradients": (
        "loss = x.sum() * 0\nfor c in range(4):\n    m = (y == c).float()\n    n = m.sum()\n    if n == 0:\n        continue\n"
        "    part = (x[:, c] * m + m).sum().sqrt()\n    part = part / (\n        n\n    )\n    loss = loss + part\n    loss /= n\n"
        "return loss"),
    "a list at the end of a round": (
        "parts = []\nfor c in range(4):\n    m = y == c\n    if m.sum() > 0:  # if any:\n        # The mean of them.\n"
        "        part = (x[:, c] * m).sum() / m.sum()\n\n        parts.append(\n            part * 2\n        )\n"
        "return torch.stack(parts).mean() if parts else x.sum() * 0"),
    "choices of a round that ends with a test": (
        "out = torch.zeros(4)\nlast = x[:, 0]\nparts = []\nfor c in range(4):\n    m = (y == c).float()\n    if m.any():\n"
        "        if x.ndim == 2:\n            last = x[:, c] * m\n            out[c] = last.sum()\n        else:\n"
        "            last = last + 1\n        parts.append(last)\nreturn out, last, sum(parts) + x.sum(1) * 0"),
    "changed in place before it is appended": (
        "parts = []\nfor c in range(4):\n    m = (y == c).float()\n    if m.sum() == 0:\n        continue\n"
        "    part = (x[:, c] * m).sum()\n    part *= 2\n    parts.append(part)\nreturn sum(parts) + x.sum() * 0"),
    "return for none": "loss = x.sum() * 0\nn = 0\nfor c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
                       "    loss = loss + (x[:, c] * m).sum()\n    n = n + 1\nif n == 0:\n    return loss * 2\nreturn loss / n",
    "list": "parts = []\nfor c in range(4):\n    m = (y == c).float()\n    if m.sum() < 1:\n        continue\n"
            "    part = (x[:, c] * m).sum()\n    parts.append(part)\nif len(parts) == 0:\n    return x.sum() * 0.0\n"
            "return torch.stack(parts).mean()",
    "check in a round": "parts = []\nfor c in range(4):\n    m = (y == c).float()\n    if m.sum() == 0:\n        continue\n"
                        "    if x.ndim == 1:\n        if len(y) > 9:\n            raise ValueError('too long')\n        part = x\n    else:\n"
                        "        part = x[:, c]\n    parts.append(torch.dot(part, m))\nif not parts:\n    return x.sum()\n"
                        "return torch.stack(parts).mean()",
    "list of rows": "parts = []\nfor c in range(4):\n    m = (y == c).float()\n    if m.sum() == 0:\n        continue\n"
                    "    parts.append(m @ x)\nif not parts:\n    return x[0] * 0.0\nreturn torch.stack(parts, dim=0).mean(dim=0)",
    "sum of a list": "parts = []\nfor c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
                     "    parts.append((x[:, c] * m).sum())\nreturn x.mean() + sum(parts) / max(len(parts), 1)",
    "text of a mean": "parts = []\nfor c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
                      "    parts.append((x[:, c] * m).sum())\nif len(parts) == 0:\n    return x.mean() * len('torch.stack(parts).mean()')\n"
                      "return torch.stack( parts).mean() * len('torch.stack(parts).mean()') + torch.stack(parts).mean()",
    "side of a flag": "for c in range(4):\n    if x.ndim == 2:\n        m = y == c\n        if not m.any():\n            continue\n"
                      "        x = x + m[:, None]\n    else:\n        x = x - 1\nreturn x",
    "flag after": "for c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n    if y.ndim == 1:\n"
                   "        x = x + m[:, None]\n    else:\n        x = x * 2\nreturn x",
    "break and stores": "out = torch.zeros(4, 3)\nh = x\nfor t in range(3):\n    h = h * 0.5\n    a, b = h.max(1)\n    out[:, t] = a\n"
                        "    if a.max() < 0.3:\n        break\nreturn out, h",
    "break by bool": "h = x\nk = y\nfor t in range(3):\n    h = h * 0.5 + k[:, None]\n    top, k = h.max(1)\n"
                     "    if bool((top > 1).all()):\n        break\nreturn h",
    "break under a flag": "h, z = x, None\nfor t in range(4):\n    h = h * 0.5\n    z = h.sum()\n    if y.ndim == 1:\n"
                          "        top = h.max()\n        if top < 0.2:\n            break\nreturn z + h.mean()",
    "rounds that are counted": "n = 0\nh = x\nfor t in range(4):\n    h = h * 0.5\n    n += 1\n    if h.max() < 0.2:\n        break\n"
                               "return h / n",
}  # fmt: skip


def program(body: str) -> str:
    return PROGRAM.format("".join(f"    {line}\n" for line in body.splitlines()))


@pytest.mark.parametrize("form", FORMS)
def test_one_graph_with_the_results_and_gradients_of_eager(fixed: Any, runner: Any, form: str) -> None:
    import torch

    source = program(FORMS[form])
    assert runner.compiled(source, torch.rand(4, 8), torch.tensor([0, 1, 1, 3])).breaks > 0
    after = fixed(source, unsafe=True).text
    for labels in ([0, 1, 1, 3], [3, 3, 3, 3], [0, 1, 2, 3], [9, 9, 9, 9]):
        results = []
        for text in (source, after):
            x = (torch.arange(32.0).reshape(4, 8) / 32).requires_grad_()
            value = runner.eager(text, x, torch.tensor(labels))
            torch.stack([v.sum() for v in (value if isinstance(value, tuple) else (value,))]).sum().backward()
            results.append((value, x.grad))
        torch.testing.assert_close(results[0], results[1])
    x, y = torch.arange(32.0).reshape(4, 8) / 32, torch.tensor([0, 1, 1, 3])
    compiled = runner.compiled(after, x, y, fullgraph=True)
    assert (compiled.breaks, compiled.graphs) == (0, 1)
    torch.testing.assert_close(compiled.value, runner.eager(source, x, y))


def test_only_the_side_of_a_count_divides_by_another_number() -> None:
    def after(text: str) -> str:
        return without_zero(Edit("m.py", (1, 1), (1, 2), text), {"n": "n.clamp(min=1)"}).text

    assert after("torch.where(n == 0, x / n, y / n)") == "torch.where(n == 0, x / n, y / n.clamp(min=1))"
    assert after("loss = torch.where(n > 0, x / n, y / n)") == "loss = torch.where(n > 0, x / n.clamp(min=1), y / n)"
    assert after("torch.where(n < 2, x / n, y / n)") == "torch.where(n < 2, x / n, y / n)"
    assert after("if n:\n") == "if n:\n"


def test_a_loop_without_rounds_counts_nothing(fixed: Any, runner: Any) -> None:
    import torch

    body = FORMS["counter"].replace("range(4)", "range(x.shape[0])")
    for form in (body, FORMS["sum of a list"].replace("range(4)", "range(x.shape[0])")):
        after = fixed(program(form), unsafe=True).text
        x, y = torch.rand(0, 8), torch.zeros(0, dtype=torch.int64)
        torch.testing.assert_close(runner.eager(after, x, y), runner.eager(program(form), x, y), equal_nan=True)


LOOP = "for c in range(4):\n    m = y == c\n    if not m.any():\n        continue\n"
GROWS = (
    "`ids` grows in each round, so its size depends on when data ends the loop: compile a function of one round, and "
    "keep the loop in eager code."
)
#: The body of ``f``, and what is said of its loop.
REFUSED = {
    "tokens": ("ids = y\nfor t in range(3):\n    new = x.sum(1).long()[:1]\n    ids = torch.cat([ids, new])\n"
               "    if (new == 3).all():\n        break\nreturn ids", GROWS),
    "list of tokens": ("ids = []\nfor t in range(3):\n    new = x.sum(1).long()[:1]\n    ids.append(new)\n"
                       "    if new.item() == 3:\n        break\nreturn torch.stack(ids)", GROWS),
    "tokens of the first round alone": (
        "for t in range(3):\n    new = x.sum(1).long()[:1]\n    ids = new if t == 0 else torch.cat([ids, new])\n"
        "    if (new == 3).all():\n        break\nreturn ids", GROWS),
    "counter in the loop": (f"n = 0\n{LOOP}    x = x + n\n    n += 1\nreturn x * n",
                            "Line 11 of the loop reads `n`, which data decides."),
    "counter that was read": (f"n = 0\nx = x[n:]\n{LOOP}    n += 1\nreturn x * n",
                              "Line 7 reads the number `n` before the loop."),
    "counter that is returned": (f"n = 0\n{LOOP}    n += 1\nreturn x, n",
                                 "The number is used where a tensor may mean something else."),
    "made by the round before": ("n = 0\nfor c in range(4):\n    m = y == c\n    if c > 0:\n        x = x + last\n    if not m.any():\n"
                                 "        continue\n    last = x * 2\nreturn x", "`last` has no value before the loop."),
    "list of an argument": (f"parts = list(x)\n{LOOP}    parts.append(x[c])\nreturn sum(parts)",
                            "`parts` is not shown to be a list of this function."),
    "list with more": (f"parts = []\n{LOOP}    parts.append(x[c])\nparts = parts[1:]\nreturn sum(parts)",
                       "`parts` is not shown to be a list of this function."),
    "list of what is changed later": (
        f"h = x * 1\nparts = []\n{LOOP}    part = h[0]\n    parts.append(part)\n    h += 1\nreturn torch.stack(parts).sum(0)",
        "`h` is changed in place, which shows in what was appended before."),
    "numbers": (f"parts = []\n{LOOP}    parts.append(c)\nreturn x * sum(parts)", "`c` is not known to be tensor data."),
    "rows": (f"parts = []\n{LOOP}    parts.append(x[c])\nreturn torch.stack(parts)",
             "Line 12 does more with `parts` than a sum, a mean or a count of it."),
    "mean of all": (f"parts = []\n{LOOP}    parts.append(x[c])\nreturn torch.stack(parts).mean()",
                    "Line 12 does more with `parts` than a sum, a mean or a count of it."),
    "states": (f"states = ()\n{LOOP}    x = x * 2\n    states = states + (x,)\nreturn states",
               "`torch.where` cannot keep the old value of `states`, which is no tensor."),
    "states of a flag": (f"states = ()\n{LOOP}    x = x * 2\n    if y.ndim == 1:\n        states += (x,)\nreturn x, states",
                         "`torch.where` cannot keep the old value of `states`, which is no tensor."),
    "other call": (f"parts = set()\n{LOOP}    parts.add(c)\nreturn x * len(parts)",
                   "Line 11 of the loop does more than assign a name."),
    "list of lists": (f"parts = [[]]\n{LOOP}    parts[0].append(c)\nreturn x * len(parts[0])",
                      "Line 11 of the loop does more than assign a name."),
    "list of a branch": (f"parts = []\n{LOOP}    if x.ndim == 2:\n        parts.append(x[c])\nreturn sum(parts)",
                         "Line 12 of the loop does more than assign a name."),
    "check of a call": (f"{LOOP}    if not y.is_contiguous():\n        raise ValueError('no')\n    x = x * 2\nreturn x",
                        "Line 10 of the loop does more than assign a name."),
    "part of a list": (f"parts = [x, x, x, x]\n{LOOP}    parts[c] = x * 2\nreturn sum(parts)",
                       "Line 11 of the loop does more than assign a name."),
    "variable of the loop": ("for t in range(3):\n    x = x * 0.5\n    if x.max() < 0.3:\n        break\nreturn x * t",
                             "Line 10 reads `t` after the loop."),
    "new in a tuple": ("for t in range(3):\n    top, x = x.amax(1), x * 0.5\n    if x.max() < 0.3:\n        break\nreturn top",
                       "`top` has no value before the loop."),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_said_where_nothing_fits(tmp_path: Path, name: str) -> None:
    body, sentence = REFUSED[name]
    file = tmp_path / "model.py"
    file.write_text(program(body))
    fixes = [finding.fix for finding in engine.analyse([(file, file.name)]).findings]
    assert [fix.reason for fix in fixes if fix is not None and fix.safety == "manual"] == [sentence]


def test_what_an_empty_list_gives_is_told(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(program(FORMS["list"]))
    reasons = {f.fix.reason for f in engine.analyse([(file, file.name)]).findings if f.rule == "GD201" and f.fix}
    assert any(
        "an empty `parts`: its sum is 0 in the shape of a value, and its mean NaN or 0." in reason for reason in reasons
    )


def test_a_check_that_more_rounds_make_is_told(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(program(FORMS["check in a round"]))
    (fix,) = {f.fix for f in engine.analyse([(file, file.name)]).findings if f.rule == "GD201"}
    assert fix is not None and "The check in line 12 is made in all, too." in fix.reason and "checks" in fix.known


def test_a_fix_in_lines_that_are_moved_is_made_after_it(fixed: Any, runner: Any) -> None:
    import torch

    body = "parts = []\nfor c in range(4):\n    m = y == c\n    if m.sum() > 0:\n"
    body += "        part = torch.nn.functional.mse_loss(x[m], x[m] * 0)\n        parts.append(part)\n"
    source = program(f"{body}return sum(parts) / max(len(parts), 1)")
    once = fixed(source, unsafe=True).text
    after = fixed(once, unsafe=True).text
    assert "skipped = ~(m.sum() > 0)" in once and "x[m]" not in after
    x, y = torch.rand(4, 8), torch.tensor([0, 1, 1, 3])
    torch.testing.assert_close(runner.eager(after, x, y), runner.eager(source, x, y))
    assert runner.compiled(after, x, y, fullgraph=True).graphs == 1
