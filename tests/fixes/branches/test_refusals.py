"""Why no fix is offered for branches and loops: each sentence has a program that brings it about."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
import pytest

from graphdoctor.fixes.branches.branch import (
    choose_result,
    count_in_graph,
    leave_out_branch,
    rewrite_branch,
    rewrite_sides,
    write_rest,
)
from graphdoctor.fixes.branches.choose import Rewrite
from graphdoctor.fixes.branches.cond import choose_with_cond
from graphdoctor.fixes.branches.counters import count_in_buffer
from graphdoctor.fixes.branches.init_flags import take_as_set
from graphdoctor.fixes.branches.shortcuts import drop_shortcut, keep_mask
from graphdoctor.fixes.loops.layer_drop import skip_layer
from graphdoctor.fixes.loops.taken_rounds import take_in_round
from graphdoctor.fixes.loops.while_loop import loop_in_graph
from graphdoctor.fixes.tensors.conversions import keep_tensor
from graphdoctor.fixes.tensors.rounds import keep_looping, run_all_rounds
from graphdoctor.static.domain.values import UNKNOWN, Tensor, Value

#: What the hit is at: the first node of a kind with this text in its code.
Place = tuple[type[cst.CSTNode], str]
#: A rewrite, the body of a function or a whole program, what the hit is at, what is known of it, and the sentence.
Row = tuple[Rewrite, str, Place, Value, str]

NET = "import torch\n\n\nclass Net(torch.nn.Module):\n"
INIT = NET + "    def __init__(self):\n        super().__init__()\n"
FORWARD = "\n    def forward(self, x):\n"
FLAG = NET + FORWARD + "        "
BOOL = Tensor("bool", 0)
CALL: Place = (cst.Call, "")
IF: Place = (cst.If, "")
TERNARY: Place = (cst.IfExp, "")

MATCH = "k = x.sum().item()\nmatch k:\n"
NO_MATCH = "The number decides a branch; torch.where does not fit: "

TABLE: list[Row] = [
    # torch.cond.
    (choose_with_cond, "y = 1 if x.sum() > 0 else 2", TERNARY, BOOL, "This is no choice between two sides."),
    (choose_with_cond, "if n:\n    y = x\nelif x.sum() > 0:\n    y = g(x)\nelse:\n    y = g(-x)", (cst.Call, "x.sum"), BOOL,
     "The condition is one of a longer chain."),
    (choose_with_cond, "if x > 0:\n    return g(x)\nreturn h(x)", IF, Tensor("bool", 1),
     "The condition is not shown to be one bool of a tensor."),
    (choose_with_cond, "if x.sum() > 0:\n    y = g(x)\nelse:\n    z = g(x)", IF, BOOL,
     "The sides do not assign one name, the same in both."),
    (choose_with_cond, "if x.sum() > 0:\n    y = g(torch.rand(2))\nelse:\n    y = g(x)", IF, BOOL,
     "`g(torch.rand(2))` draws random numbers, which a side may not."),
    (choose_with_cond, "if x.sum() > 0:\n    y = super().g(x)\nelse:\n    y = g(x)", IF, BOOL,
     "`super().g(x)` calls `super()`, which a function inside may not."),
    (choose_with_cond, "k = 2\nif x.sum() > 0:\n    y = g(x)\nelse:\n    y = k", IF, BOOL,
     "`k` is a Python number, and `torch.cond` gives tensors."),
    # Early returns for what is empty, and masks that mask nothing.
    (keep_mask, "y = len(x)\nreturn y", CALL, UNKNOWN, "This does not drop a mask that masks nothing."),
    (keep_mask, "m = x * 2\nif not m.any():\n    m = None\nreturn m", (cst.Call, "any("), UNKNOWN,
     "`m` is not shown to be a mask."),
    (drop_shortcut, "y = len(x)\nreturn y", CALL, UNKNOWN, "No branch tests how much is selected."),
    (drop_shortcut, "if x.sum() > 0:\n    return x\nreturn y", CALL, UNKNOWN,
     "This is no early return for an empty selection."),
    (drop_shortcut, "if len(x) == 0:\n    n += 1\n    return y\nreturn x", CALL, UNKNOWN,
     "The branch does more than return a value."),
    (drop_shortcut, "if len(x) == 0:\n    return x\nreturn y", CALL, UNKNOWN,
     "The code after the branch does not read `x`."),
    (drop_shortcut, "if not x.any():\n    return y\nreturn y[x].mean()", CALL, UNKNOWN,
     "`y[x].mean()` after the branch is NaN or an error for an empty selection."),
    (drop_shortcut, "if not x.any():\n    return y\nz = y[x]\nreturn z.sum() / len(z)", CALL, UNKNOWN,
     "`z.sum() / len(z)` after the branch is NaN or an error for an empty selection."),
    (drop_shortcut, "if x.all():\n    return y\nreturn y * x", CALL, UNKNOWN,
     "The code after the branch does not select by `x`."),
    # Loops that end or skip by data.
    (keep_looping, "if x.any():\n    return x", IF, BOOL, "This does not go on with the next round."),
    (run_all_rounds, "if x.any():\n    x = y", IF, BOOL, "This neither breaks out of a loop nor returns from it."),
    (run_all_rounds, "while n:\n    if x.any():\n        break", IF, BOOL,
     "The branch does not stand in a for loop itself."),
    (run_all_rounds, "for k in y:\n    x += k\n    if k.any():\n        break", IF, BOOL,
     "The loop changes the argument `x` in place."),
    (keep_looping, "for k in x:\n    if n:\n        if k.any():\n            continue\n        x = k\n    x = x + k", (cst.Call, "k.any"), UNKNOWN,
     "The branch does not end a plain `if` on one flag."),
    (keep_looping, "for k in x:\n    if n:\n        n = 0\n        if k.any():\n            continue\n    x = k", (cst.Call, "k.any"),
     UNKNOWN, "The flag around the branch changes in the loop."),
    (skip_layer, "if x.any():\n    x = n(x)", IF, BOOL, "This does not decide whether a layer of a for loop runs."),
    (skip_layer, "for k in x:\n    if k.any():\n        y = k\n    else:\n        y = x", IF, BOOL,
     "This does not decide whether a layer of a for loop runs."),
    (skip_layer, "for k in x:\n    drop = False\n    if n:\n        if k.any():\n            drop = True\n    y = drop", (cst.Call, "k.any"),
     UNKNOWN, "`drop` does more than decide whether a layer runs."),
    (skip_layer, "for k in x:\n    drop = False\n    if n and g(k):\n        drop = k.any()\n    if not drop:\n        x = k",
     (cst.UnaryOperation, "drop"), UNKNOWN, "`drop` is not set behind one flag of the loop."),
    (skip_layer, "y = None\nfor k in x:\n    if k.any():\n        y = n(k)", (cst.Call, "k.any"), BOOL,
     "`y` is None before the first layer, and `torch.where` takes tensors."),
    (skip_layer, "for k in x:\n    if k.any():\n        n = k.sum().item()", (cst.Call, "k.any"), BOOL,
     "`k.sum().item()` reads data, so the graph would end there all the same."),
    (skip_layer, "for k in x:\n    if n and k.any():\n        y = k", IF, UNKNOWN,
     "A flag decides too whether the layer runs."),
    (skip_layer, "for k in x:\n    if not (n and k.any()):\n        n = k", IF, UNKNOWN,
     "The flag around the branch changes in the loop."),
    (skip_layer, "for k in x:\n    if k.any():\n        out = n(k)\n        x = x + out\n    x = x * out", (cst.Call, "k.any"), BOOL,
     "`out` has no value before the loop."),
    (skip_layer, "for k in x:\n    if k.any():\n        x = n(k) + next(a)", (cst.Call, "k.any"), BOOL,
     "`next(a)` takes an item away, also in a round that does not count."),
    # Values that may be Python ones, and code in a try.
    (rewrite_branch, "ok = x.all() if n else True\nif ok:\n    x = x + 1\nreturn x", IF, BOOL,
     "torch.where does not fit: `ok` may also be a Python value, such as a bool, which a tensor cannot replace."),
    (run_all_rounds, "for k in x:\n    print(k)\n    if k.any():\n        break", IF, BOOL,
     "Line 6 of the loop does more than assign a name."),
    (keep_looping, "z = None\nfor k in x:\n    if k.any():\n        continue\n    z = k\nreturn z", IF, BOOL,
     "`None` is not a tensor."),
    (keep_looping, "z = None\nfor k in x:\n    if k.any():\n        z = k + 1\nreturn z", IF, BOOL, "`None` is not a tensor."),
    (keep_looping, "z = x\nfor k in x:\n    if (k > 0\n        ).any():\n        z = k + 1\nreturn z", IF, BOOL,
     "The test has more than one line."),
    (keep_looping, "z = x\nfor k in x:\n    if n and k.any():\n        z = k + 1\nreturn z", IF, UNKNOWN,
     "Python decides whether the tensor is tested."),
    (keep_looping, "for k in x:\n    if k.any():\n        z = k", IF, BOOL, "Nothing that the loop computes is kept."),
    (take_in_round, "if x.any():\n    return x", IF, BOOL, "No branch ends the round of a loop."),
    (keep_looping, "for k in x:\n    if k.any():\n        continue\n    z = k\nreturn z", IF, BOOL,
     "`z` has no value before the loop."),
    (keep_looping, "for k in x:\n    if k.any():\n        continue\n    z = k", IF, BOOL,
     "Nothing that the loop computes is kept."),
    # Numbers that stay tensors.
    (rewrite_branch, "if x.sum() > int(x.mean()):\n    x = x + 1\nreturn x", IF, BOOL,
     "torch.where does not fit: int() cuts off the fraction, which the tensor would keep."),
    (rewrite_branch, "import torch\nfrom torch import allclose\n\n\ndef f(x: torch.Tensor):\n    if allclose(x, x):\n        return 2 * x\n    return x\n",
     IF, UNKNOWN, "torch.where does not fit: `allclose(x, x)` is not called as a function of torch or a method."),
    # Counters.
    (count_in_graph, "if x.any():\n    self.n *= 2", (cst.Call, "x.any"), BOOL, "The branch does more than count."),
    (count_in_graph, "if x.any():\n    self.n += 0.5", (cst.Call, "x.any"), BOOL, "The branch does more than count."),
    (count_in_graph, "if x.any():\n    self.n += 1", (cst.Call, "x.any"), BOOL,
     "The counter is not an attribute of a module of this file."),
    (count_in_graph, INIT + "        self.n = 0\n" + FORWARD + "        if self.training and x.any():\n            self.n += 1\n",
     (cst.Call, "x.any"), BOOL, "The branch tests a number of Python too."),
    (count_in_buffer, "n += 1", (cst.Name, "n"), UNKNOWN, "The counter is not an attribute of a module of this file."),
    (count_in_buffer, NET + FORWARD + "        self.n += 1\n", (cst.Attribute, "self.n"), UNKNOWN,
     "The class has no `__init__` that calls the one of nn.Module."),
    (count_in_buffer, INIT + "        self.n = first()\n" + FORWARD + "        self.n += 1\n", (cst.Attribute, "self.n"),
     UNKNOWN, "`__init__` does not set `self.n` to a number."),
    (count_in_buffer, INIT + "        self.n = 0\n" + FORWARD + "        n = self.n\n        self.n += 1\n        return x * n\n",
     (cst.Attribute, "self.n"), UNKNOWN, "Line 10 keeps `self.n` as it is there."),
    (count_in_buffer, INIT + "        self.n = 1\n" + FORWARD + "        self.n *= 0.9\n", (cst.Attribute, "self.n"),
     UNKNOWN, "Line 10 makes a fraction of `self.n`, which starts as an int."),
    (count_in_buffer, INIT + "        self.n = 1\n" + FORWARD + "        self.n /= 2\n", (cst.Attribute, "self.n"),
     UNKNOWN, "Line 10 makes a fraction of `self.n`, which starts as an int."),
    (count_in_buffer, INIT + "        self.n = 0\n" + FORWARD + "        self.n += 1\n        return x[self.n]\n",
     (cst.Attribute, "self.n"), UNKNOWN, "Line 11 needs `self.n` as a Python number."),
    (count_in_buffer, INIT + "        self.n = 0\n\n    def reset(self):\n        self.n = 0\n" + FORWARD + "        self.n += 1\n",
     (cst.Attribute, "self.n"), UNKNOWN, "Line 10 sets `self.n`, which a buffer refuses."),
    (count_in_buffer, INIT + "        self.n = 0\n" + FORWARD + "        self.n = self.n + 1\n\n\ndef start(net):\n    net.n = 0\n",
     (cst.Attribute, "self.n"), UNKNOWN, "Line 14 sets `net.n`, which a buffer refuses."),
    # Loops.
    (loop_in_graph, "if x > 0:\n    pass", IF, BOOL, "This is not the condition of a while loop."),
    (loop_in_graph, "while x.any():\n    x = x / 2\nelse:\n    pass", (cst.Call, "any"), BOOL, "The loop has an else branch."),
    (loop_in_graph, "while x.any():\n    x = (y := x)", (cst.Call, "any"), BOOL, "The loop assigns inside an expression."),
    (loop_in_graph, "while n:\n    if x.any():\n        break", (cst.Call, "any"), BOOL, "The loop has a test of its own."),
    (loop_in_graph, "while True:\n    if x.any():\n        return", (cst.Call, "any"), BOOL, "The loop returns nothing."),
    (loop_in_graph, "while True:\n    if x.any():\n        break\n    if n:\n        return x", (cst.Call, "any"), BOOL,
     "The loop ends in more than one place."),
    (loop_in_graph, "k = 0\nwhile x.any():\n    x = x / 2\n    k += 1\nreturn x, k", (cst.Call, "any"), BOOL,
     "`k` counts the rounds and is read in line 9."),
    (loop_in_graph, "k = 0\nwhile x.any() and k < 3:\n    k += 1\nreturn x", (cst.Call, "any"), BOOL,
     "Only a counter is carried from iteration to iteration."),
    (loop_in_graph, "while x.any():\n    print(x)", (cst.Call, "any"), BOOL,
     "The loop runs a call, and does more than assign names."),
    (loop_in_graph, "while x.any():\n    x = g(x)", (cst.Call, "any"), BOOL, "`g(x)` may have side effects."),
    (loop_in_graph, "while x.any():\n    k = x\n    x = g(k)\nreturn k", (cst.Call, "any"), BOOL,
     "`k` has no value before the loop and is read after it."),
    # Flags of the first call.
    (take_as_set, "x = x.any()", CALL, BOOL, "This is no branch on a flag."),
    (take_as_set, FLAG + "if self.training and self.ready:\n            return x\n        self.ready.copy_(x.any())\n",
     (cst.Attribute, "self.ready"), BOOL, "`ready` is set to what data decides."),
    (take_as_set, "if x.any():\n    pass", CALL, BOOL, "The branch does not test one flag of the module."),
    (take_as_set, FLAG + "if x.any() and self.ready:\n            return x\n", (cst.Call, "x.any"), BOOL,
     "The branch tests more than a flag of the module."),
    (take_as_set, FLAG + "if g(x) and self.ready:\n            return x\n        self.ready.fill_(1)\n", (cst.Attribute, "self.ready"), BOOL,
     "What the branch tests before the flag may do more than compute a value."),
    (take_as_set, FLAG + "if self.ready:\n            return x\n        self.ready.fill_(1)\n        self.ready = False\n",
     (cst.Attribute, "self.ready"), BOOL, "`ready` is not shown to be set once and for all."),
    (take_as_set, FLAG + "if self.ready:\n            return x\n        self.ready.copy_(x.any())\n", (cst.Attribute, "self.ready"), BOOL,
     "`ready` is set to what data decides."),
    (take_as_set, FLAG + "if self.ready:\n            return x\n        self.ready.data.copy_(torch.BoolTensor(1))\n",
     (cst.Attribute, "self.ready"), BOOL, "`ready` is set to what data decides."),
    (take_as_set, FLAG + "if self.ready:\n            return x\n        [*self.ready, x] = x\n", (cst.Attribute, "self.ready"), BOOL,
     "`ready` is set to what data decides."),
    (take_as_set, FLAG + "if self.ready:\n            return x\n        if len(x) > 3:\n            self.ready.fill_(1)\n",
     (cst.Attribute, "self.ready"), BOOL, "A later call than the first may be the one that sets `ready`."),
    (take_as_set, FLAG + "if x is None:\n            x = 1\n        elif self.ready:\n            return x\n        self.ready.fill_(1)\n",
     (cst.Attribute, "self.ready"), BOOL, "The branch on the flag is one of a longer chain."),
    (take_as_set, FLAG + "if not self.ready:\n            self.ready.fill_(1)\n        else:\n            x = x + 1\n",
     (cst.Attribute, "self.ready"), BOOL, "The branch on the flag has another side."),
    # Conditions.
    (rewrite_branch, "if torch.is_nonzero(x, x):\n    x = x + 1", IF, BOOL,
     "torch.where does not fit: `torch.is_nonzero(x, x)` cannot be written as a tensor expression."),
    (rewrite_branch, "if any([*x.unbind()]):\n    x = x + 1", IF, UNKNOWN,
     "torch.where does not fit: `[*x.unbind()]` is not written out."),
    (rewrite_branch, "if any([x.add_(1).sum() > 0]):\n    x = x + 1", IF, UNKNOWN,
     "torch.where does not fit: `x.add_(1)` may have side effects, and would run more often."),
    (rewrite_branch, "if torch.equal(x.add_(1), x):\n    x = x + 1", IF, UNKNOWN,
     "torch.where does not fit: what torch.equal compares would be computed twice."),
    # Early returns.
    (write_rest, "if x.sum() > 0:\n    return x\nx.zero_()", IF, BOOL, "This is no branch that returns nothing."),
    (write_rest, "for k in x:\n    if x.sum() > 0:\n        return\nx.zero_()", IF, BOOL,
     "The return stands in a loop or a block of its own."),
    (write_rest, "if x.sum() > 0:\n    return", IF, BOOL, "Nothing stands after the return."),
    (write_rest, "if x.sum() > 0:\n    return\ng(x)", IF, BOOL,
     "A side runs `g(x)`, which is not known to be output alone."),
    (write_rest, "if x.sum() > 0:\n    return\nreturn x", IF, BOOL, "A side returns instead of assigning a name."),
    (choose_result, "y = 1 if x.sum() > 0 else 2", TERNARY, BOOL, "This is no branch with one other side at most."),
    (choose_result, "if x.sum() > 0:\n    x = x + 1\nreturn x", IF, BOOL, "The branch does not return a value."),
    (choose_result, "if x.sum() > 0:\n    return x\nelse:\n    x = x + 1\n    return x", IF, BOOL,
     "The other side does more than return a value."),
    (choose_result, "for k in x:\n    if x.sum() > 0:\n        return x\nreturn x", IF, BOOL,
     "The return stands in a loop or a block of its own."),
    (choose_result, "if x.sum() > 0:\n    return x\nx = x + 1", IF, BOOL,
     "The function does not end in the return of a value."),
    (choose_result, "if x.sum() > 0:\n    return x, x\nreturn x, x, x", IF, BOOL,
     "The two results have not as many values."),
    (choose_result, "if n and x.sum() > 0:\n    return x\ny = 1; return 2 * x", IF, UNKNOWN,
     "The statement shares its line with other code."),
    (write_rest, "if n and x.sum() > 0:\n    return\nx.zero_()", IF, UNKNOWN,
     "Python decides whether the tensor is tested."),
    # Sides that do several things, or only write output.
    (rewrite_sides, "y = 1 if x.sum() > 0 else 2", TERNARY, BOOL, "This is no branch of its own."),
    (rewrite_sides, "if n and x.sum() > 0:\n    x = x + 1\nelse:\n    x = x + 2", IF, UNKNOWN,
     "Python decides whether the tensor is tested, and there is an else."),
    (leave_out_branch, "y = 1 if x.sum() > 0 else 2", TERNARY, BOOL, "This is no branch of its own."),
    (leave_out_branch, "if x.any():\n    g(x)", IF, BOOL, "A side runs `g(x)`, which is not known to be output alone."),
    (leave_out_branch, "if (k := x.any()):\n    print(1)", IF, BOOL,
     "The branch awaits, yields or assigns inside an expression."),
    (leave_out_branch, "if x.any():\n    k = 1\nreturn k", IF, BOOL, "`k` is used outside of the branch."),
    # A match on a number.
    (keep_tensor, MATCH + "    case 0 if n:\n        x = y\nreturn x", CALL, UNKNOWN, NO_MATCH + "a case has a guard."),
    (keep_tensor, MATCH + "    case _ | 3:\n        x = y\n    case 2:\n        x = 2 * y\nreturn x", CALL, UNKNOWN,
     NO_MATCH + "a case stands after one that takes everything."),
    (keep_tensor, MATCH + "    case _:\n        x = y\nreturn x", CALL, UNKNOWN,
     NO_MATCH + "no case compares the number with a literal."),
    (keep_tensor, MATCH + "    case [1, 2]:\n        x = y\nreturn x", CALL, UNKNOWN,
     NO_MATCH + "a case is more than a comparison with a number."),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].__name__}-{row[4][:40]}")
def test_refusal(refusal: Callable[..., str], row: Row) -> None:
    *program, sentence = row
    assert refusal(*program) == sentence
