"""Every sentence that says why no fix is offered: each has a program that brings it about, here or in another test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.branch import rewrite_branch
from graphdoctor.fixes.branches.choose import Rewrite, first_fit
from graphdoctor.fixes.branches.cond import choose_with_cond
from graphdoctor.fixes.branches.counters import count_in_buffer
from graphdoctor.fixes.branches.init_flags import take_as_set
from graphdoctor.fixes.branches.layer_drop import skip_layer
from graphdoctor.fixes.branches.loops import keep_looping
from graphdoctor.fixes.branches.while_loop import loop_in_graph
from graphdoctor.fixes.python.capture import capture_numbers, capture_shapes
from graphdoctor.fixes.python.checks import check_in_graph
from graphdoctor.fixes.python.contexts import skip_context
from graphdoctor.fixes.python.defaults import default_for_none, make_default
from graphdoctor.fixes.python.definitions import hoist_definition
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.hoist import hoist_constant
from graphdoctor.fixes.python.idioms import always_callable, own_name, power, read_global
from graphdoctor.fixes.python.layers import build_in_init, compile_too, plain_module, plain_property
from graphdoctor.fixes.python.wrappers import plain_iterable
from graphdoctor.fixes.tensors.conversions import keep_list, keep_tensor, keep_truth, python_product, torch_reduction
from graphdoctor.fixes.tensors.copies import call_with_copies, plain_dict
from graphdoctor.fixes.tensors.devices import device_arguments
from graphdoctor.fixes.tensors.experts import loop_over_all
from graphdoctor.fixes.tensors.gradients import grad_flag_in_eager
from graphdoctor.fixes.tensors.masked_calls import call_with_all_rows
from graphdoctor.fixes.tensors.masks import reduce_masked, write_masked
from graphdoctor.fixes.tensors.sorting import sort_in_graph
from graphdoctor.fixes.tensors.storage import reshape, size_of_memory, stay_dense
from graphdoctor.static.domain.values import UNKNOWN, Tensor, TorchModule, Value
from graphdoctor.static.rule import Refusal

ROOT = Path(__file__).parents[2]
HOLE = "\0"

F = "import torch\n\n\ndef f(x: torch.Tensor, y=None, *, n=2):\n"
NET = "import torch\n\n\nclass Net(torch.nn.Module):\n"
INIT = NET + "    def __init__(self):\n        super().__init__()\n"
FORWARD = "\n    def forward(self, x):\n"
MASK = "mask = one_hot(x)\n"
HIT = "hit = mask.nonzero()\n"
WHERE = "    k, rows = torch.where(mask[e])\n"
ADD = "    out.index_add_(0, rows, x[rows])\n"
LOOP = MASK + HIT + "for e in hit:\n"
FLAG = NET + FORWARD + "        "
LAYER = TorchModule("torch.nn.Linear")
BOOL = Tensor("bool", 0)
LAZY = INIT + "        self.p = None\n" + FORWARD + "        if self.p is None:\n"
CALL: tuple[type[cst.CSTNode], str] = (cst.Call, "")
NAME_X: tuple[type[cst.CSTNode], str] = (cst.Name, "x")

#: A rewrite, the body of a function or a whole program, what the hit is at, what is known of it, and the sentence.
TABLE: list[tuple[Rewrite, str, tuple[type[cst.CSTNode], str], Value, str]] = [
    # Settings of Dynamo.
    (capture_shapes, "return x.median()", CALL, UNKNOWN, "`median` breaks even when sizes that depend on data are recorded."),
    (capture_numbers, "k = x.item()\nif k > 1:\n    return x", CALL, UNKNOWN,
     "The value decides a branch, which breaks even when it is recorded."),
    (capture_numbers, "import torch\n\ntorch._dynamo.config.capture_scalar_outputs = True\n\n\ndef f(x):\n    return x.item()\n",
     CALL, UNKNOWN, "`torch._dynamo.config.capture_scalar_outputs = True` is already set in this file."),
    (capture_numbers, "def f(x):\n    return x.item()\n", CALL, UNKNOWN,
     "The file does not import torch, so it is no place for a setting of torch."),
    (capture_numbers, "try:\n    import torch\nexcept ImportError:\n    raise\n\n\ndef f(x):\n    return torch.item(x)\n", (cst.Call, "item"), UNKNOWN,
     "There is no place for a setting, because the imports are not at the top of the file."),
    # Checks.
    (check_in_graph, "return torch._check_tensor_all(x > 0)", CALL, UNKNOWN,
     "The check is part of an expression, so it has no form inside the graph."),
    (check_in_graph, "torch._check(x.any())", CALL, UNKNOWN,
     "`_check` takes no tensor, in eager either; `torch._assert_async` does."),
    (check_in_graph, "torch._check_tensor_all(*x)", CALL, UNKNOWN, "The condition of the check is not written out."),
    # torch.cond.
    (choose_with_cond, "y = 1 if x.sum() > 0 else 2", (cst.IfExp, ""), BOOL, "This is no choice between two sides."),
    (choose_with_cond, "if x > 0:\n    return g(x)\nreturn h(x)", (cst.If, ""), Tensor("bool", 1),
     "The condition is not shown to be one bool of a tensor."),
    (choose_with_cond, "if x.sum() > 0:\n    y = g(x)\nelse:\n    z = g(x)", (cst.If, ""), BOOL,
     "The sides do not assign one name, the same in both."),
    (choose_with_cond, "if x.sum() > 0:\n    y = g(torch.rand(2))\nelse:\n    y = g(x)", (cst.If, ""), BOOL,
     "`g(torch.rand(2))` draws random numbers, which a side may not."),
    # Loops that end or skip by data.
    (keep_looping, "if x.any():\n    return x", (cst.If, ""), BOOL, "This is neither a break nor a continue."),
    (keep_looping, "while n:\n    if x.any():\n        break", (cst.If, ""), BOOL,
     "The branch does not stand in a for loop itself."),
    (keep_looping, "for k in x:\n    if n:\n        if k.any():\n            continue\n        x = k", (cst.Call, "k.any"), UNKNOWN,
     "The branch does not end a plain `if` on one flag."),
    (keep_looping, "for k in x:\n    if n:\n        n = 0\n        if k.any():\n            continue\n    x = k", (cst.Call, "k.any"),
     UNKNOWN, "The flag around the branch changes in the loop."),
    (skip_layer, "if x.any():\n    x = n(x)", (cst.If, ""), BOOL, "This is no choice of whether a layer of a for loop runs."),
    (skip_layer, "for k in x:\n    if k.any():\n        y = k\n    else:\n        y = x", (cst.If, ""), BOOL,
     "This is no choice of whether a layer of a for loop runs."),
    (skip_layer, "for k in x:\n    drop = False\n    if n:\n        if k.any():\n            drop = True\n    y = drop", (cst.Call, "k.any"),
     UNKNOWN, "`drop` does more than decide whether a layer runs."),
    (skip_layer, "for k in x:\n    drop = False\n    if n and g(k):\n        drop = k.any()\n    if not drop:\n        x = k",
     (cst.UnaryOperation, "drop"), UNKNOWN, "`drop` is not set behind one flag of the loop."),
    (skip_layer, "for k in x:\n    if n and k.any():\n        y = k", (cst.If, ""), UNKNOWN,
     "A flag decides too whether the layer runs."),
    (skip_layer, "for k in x:\n    if not (n and k.any()):\n        n = k", (cst.If, ""), UNKNOWN,
     "The flag around the branch changes in the loop."),
    # Values that may be Python ones, and code in a try.
    (rewrite_branch, "ok = x.all() if n else True\nif ok:\n    x = x + 1\nreturn x", (cst.If, ""), BOOL,
     "torch.where does not fit: `ok` may also be a Python value, such as a bool, which a tensor cannot replace."),
    (check_in_graph, "try:\n    torch._check_tensor_all(x)\nexcept RuntimeError:\n    pass", CALL, BOOL,
     "It stands in a try, whose handlers do not see what fails inside the graph."),
    (keep_looping, "for k in x:\n    if k.any():\n        break\n    x = k", (cst.If, ""), BOOL,
     "The break is not the last thing in the loop, or not by tensor data alone."),
    (keep_looping, "for k in x:\n    print(k)\n    if k.any():\n        break", (cst.If, ""), BOOL,
     "Line 6 of the loop does more than assign a name."),
    (keep_looping, "for k in x:\n    z = k\n    if k.any():\n        break\nreturn z", (cst.If, ""), BOOL,
     "`z` has no value before the loop."),
    (keep_looping, "for k in x:\n    if k.any():\n        continue\n    z = k", (cst.If, ""), BOOL,
     "Nothing that the loop computes is kept."),
    # Contexts.
    (skip_context, "stack.enter_context(x)", CALL, UNKNOWN, "The context is not entered by a with statement of its own."),
    (skip_context, "with lock:\n    return x", (cst.WithItem, "lock"), UNKNOWN,
     "The context was made elsewhere; enter it in the code that calls the compiled function."),
    (skip_context, "with profiler.profile() as p:\n    return x", (cst.Call, "profile"), UNKNOWN,
     "The block uses the context that was entered."),
    (device_arguments, "with lock:\n    return x", (cst.WithItem, "lock"), UNKNOWN,
     "This does not set the device of new tensors for a block."),
    (device_arguments, "with torch.device(0), torch.no_grad():\n    return x", CALL, UNKNOWN,
     "The statement enters more than the device."),
    (device_arguments, "with torch.device(0):\n    return g(x)", CALL, UNKNOWN,
     "`g(x)` may create tensors of its own on the device."),
    (device_arguments, 'with torch.device(0):\n    s = """a\n    b"""', CALL, UNKNOWN, "A string of several lines would be moved."),
    # Numbers that stay tensors.
    (rewrite_branch, "if x.sum() > int(x.mean()):\n    x = x + 1\nreturn x", (cst.If, ""), BOOL,
     "torch.where does not fit: int() cuts off the fraction, which the tensor would keep."),
    (rewrite_branch, "import torch\nfrom torch import allclose\n\n\ndef f(x: torch.Tensor):\n    if allclose(x, x):\n        return 2 * x\n    return x\n",
     (cst.If, ""), UNKNOWN, "torch.where does not fit: `allclose(x, x)` is not called as a function of torch or a method."),
    (keep_list, "return list(x)", CALL, UNKNOWN, "The list is not made by a plain call of tolist()."),
    (keep_truth, "with lock:\n    return x", (cst.With, ""), UNKNOWN, "What is asked for its truth is no expression."),
    (python_product, "return x.reshape(x.numel())", (cst.Call, "numel"), UNKNOWN,
     "The number does not come from np.prod of a shape, so Python's math has no form of it."),
    (python_product, "def f(x):\n    return np.prod(x.shape)\n", CALL, UNKNOWN, "The file has no import at its top."),
    (python_product, "return np.prod(x)", CALL, UNKNOWN, "`x` is not shown to be a shape."),
    (torch_reduction, "return x.numpy().mean()", CALL, UNKNOWN, "The array is not read as one number."),
    (torch_reduction, "return x.numpy().std().item()", CALL, UNKNOWN,
     "The number is not a reduction that numpy and torch compute alike."),
    (keep_tensor, "k = x.max().item()\nif k > 1:\n    y.append(k)\nreturn x", (cst.Call, "item"), UNKNOWN,
     "The number decides a branch; torch.where does not fit: a side runs a call instead of assigning a name."),
    (keep_tensor, "ok = x.max().item() < 1 < n\nreturn x * ok", (cst.Call, "item"), UNKNOWN,
     "The number is compared in more than one way at once."),
    (keep_tensor, "k = x.max().item()\ny.append(k)", (cst.Call, "item"), UNKNOWN,
     "`y` is not shown to be a list of this function."),
    (keep_tensor, "found = [1]\nk = x.max().item()\nfound.append(k)\nreturn found[0] * x", (cst.Call, "item"), UNKNOWN,
     "`found` holds other values too."),
    (keep_tensor, "k = x.max().item()\nwhile k > 1:\n    x = x / 2\nreturn x", (cst.Call, "item"), UNKNOWN,
     "The number decides how often a loop runs."),
    (keep_tensor, "k = x.max().item() or 1\nreturn x * k", (cst.Call, "item"), UNKNOWN,
     "Python's and/or of the number gives one of its operands."),
    (keep_tensor, "x.limit = x.max().item()\nreturn x", (cst.Call, "item"), UNKNOWN,
     "The value is stored where other code may read it."),
    # Copies.
    (call_with_copies, "twin = copy.deepcopy(x)", CALL, UNKNOWN, "What is copied is not known to be a module."),
    (call_with_copies, "return copy.deepcopy(x)", CALL, LAYER, "The copy of the module is not given a name of its own."),
    (call_with_copies, "twin = copy.deepcopy(x)\nreturn twin", CALL, LAYER, "Line 6 does more with the copy than call it."),
    (plain_dict, "return copy.copy(x)", CALL, UNKNOWN, "What is copied is not known to be a dict or a dataclass."),
    # Counters.
    (count_in_buffer, "n += 1", (cst.Name, "n"), UNKNOWN, "The counter is not an attribute of a module of this file."),
    (count_in_buffer, NET + FORWARD + "        self.n += 1\n", (cst.Attribute, "self.n"), UNKNOWN,
     "The class has no `__init__` that calls the one of nn.Module."),
    (count_in_buffer, INIT + "        self.n = first()\n" + FORWARD + "        self.n += 1\n", (cst.Attribute, "self.n"),
     UNKNOWN, "`__init__` does not set `self.n` to a number."),
    (count_in_buffer, INIT + "        self.n = 0\n" + FORWARD + "        self.n += 1\n        return x[self.n]\n",
     (cst.Attribute, "self.n"), UNKNOWN, "Line 11 needs `self.n` as a Python number."),
    # Defaults.
    (default_for_none, "return y", (cst.Name, "y"), UNKNOWN, "This is no `or` that gives a default."),
    (default_for_none, "z = x.mean or y", (cst.Attribute, "x.mean"), UNKNOWN, "`x.mean` is no argument that is None by default."),
    (default_for_none, "return 2 * (y or x)", (cst.Name, "y"), UNKNOWN, "This is no `or` that gives a default."),
    (make_default, "return x.size()", CALL, UNKNOWN, "The test that leaves the default out is in another file."),
    # Classes and imports.
    (hoist_definition, "import json", (cst.Import, "json"), UNKNOWN,
     "This is neither a class nor a try that holds nothing but imports and flags."),
    (hoist_definition, "if n:\n    class A:\n        pass", (cst.ClassDef, ""), UNKNOWN,
     "The statement does not stand in the function itself."),
    (hoist_definition, "class A:\n    pass\n\nA = 1", (cst.ClassDef, ""), UNKNOWN,
     "`A` is bound a second time in the function."),
    (hoist_definition, "class A:\n    k = x\n\nreturn A", (cst.ClassDef, ""), UNKNOWN,
     "`x` is not known when the file is imported."),
    (hoist_definition, F + "    class A:\n        k = 1\n\n    return A\n\n\nA = 2\n", (cst.ClassDef, ""), UNKNOWN,
     "`A` is also a name outside the function."),
    (hoist_definition, F + "    class A:\n        k = 1\n", (cst.ClassDef, ""), UNKNOWN, "The statement is all that its block does."),
    # Experts.
    (loop_over_all, "return x.nonzero()", CALL, UNKNOWN,
     "The positions that are found are used as data, and how many there are depends on the data."),
    (loop_over_all, LOOP + "    k, rows = torch.where(other[e])\n" + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "`mask.nonzero()` does not search the mask that the loop reads."),
    (loop_over_all, LOOP + WHERE + ADD + "return hit", (cst.Call, "nonzero"), UNKNOWN, "`hit` is used outside the loop too."),
    (loop_over_all, LOOP + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "The loop does not select its rows by one call of torch.where(mask)."),
    (loop_over_all, LOOP.replace("one_hot(x)", "one_hot(x, n + 1)") + WHERE + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "`mask` has rows for more than the experts, and how many there are is not shown."),
    (loop_over_all, LOOP + "    rows = torch.where(mask[e])\n" + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "What torch.where(mask) gives is not bound to a position and a row."),
    (loop_over_all, LOOP + WHERE + "    out = rows", (cst.Call, "nonzero"), UNKNOWN,
     "The loop does not add up its rows by one index_add_(0, rows, value)."),
    (loop_over_all, LOOP + WHERE + "    out.index_add_(0, y, x[rows])", (cst.Call, "nonzero"), UNKNOWN,
     "`y` is not what torch.where(mask) selected."),
    (loop_over_all, LOOP + WHERE + "    z = x[rows]\n" + ADD + "return z", (cst.Call, "nonzero"), UNKNOWN,
     "`z` of the loop is used behind it."),
    (loop_over_all, LOOP + WHERE + "    n += 1\n" + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "Line 9 of the loop does more than compute the rows."),
    (loop_over_all, LOOP + WHERE + "    x.kept = rows\n" + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "Line 9 of the loop stores rows for other code."),
    # Gradients.
    (grad_flag_in_eager, "return x.requires_grad_()", CALL, UNKNOWN, "This is not a statement that only asks for gradients."),
    (grad_flag_in_eager, "z = y = x.requires_grad_()", CALL, UNKNOWN, "The statement assigns more than one target."),
    (grad_flag_in_eager, "z = x.requires_grad_(); y = 1", CALL, UNKNOWN, "The statement shares its line with other code."),
    # Values that are computed once, and host work.
    (hoist_constant, "if True:\n    import torch\n\n    def f(x):\n        return g()\n", CALL, UNKNOWN,
     "The code is not in a function or class at module level."),
    (hoist_constant, "a = list()\na.append(x)\nreturn a", (cst.Call, "list"), UNKNOWN,
     "`a` is changed in line 6, and all calls would share it."),
    (hoist_constant, "K = 1\n" + F + "    return abs(K)\n\n\nK = 2\n", (cst.Call, "abs"), UNKNOWN,
     "`abs(K)` needs `K`, which is not known when the file is imported."),
    (hoist_constant, "K = 1\n" + F + "    return abs(K)\n\n\ndef g():\n    global K\n", (cst.Call, "abs"), UNKNOWN,
     "`abs(K)` needs `K`, which is not known when the file is imported."),
    (hoist_constant, "import torch\n\ng()\n", CALL, UNKNOWN, "The code is not in a function or class at module level."),
    (guard_host, "for t in g():\n    n = t", CALL, UNKNOWN, "Line 5 does more than assign."),
    (guard_host, "y = time.time()\nreturn x", CALL, UNKNOWN, "`y` is an argument of the function."),
    (guard_host, "with open(n) as file:\n    return x", CALL, UNKNOWN,
     "The block leaves the function or the loop around it, so it must run under compile too."),
    (guard_host, "with open(n) as file:\n    k = file.read()\nreturn k", CALL, UNKNOWN, "`k` is also used outside the block."),
    (guard_host, "with open(n) as file:\n    x.k = file.read()", CALL, UNKNOWN,
     "The block stores values where other code may read them."),
    # Layers.
    (build_in_init, "z = nn.Linear(8, 8)", CALL, UNKNOWN, "The layer is not kept on the module behind a test that it is missing."),
    (build_in_init, INIT + "        self.p = None\n" + FORWARD + "        if x.ndim:\n            self.p = g(8)\n",
     (cst.Call, "g(8)"), UNKNOWN, "`x.ndim` does not test whether `self.p` is None."),
    (build_in_init, LAZY + "            self.p = g(x.ndim)\n", (cst.Call, "g(x.ndim)"), UNKNOWN,
     "The layer needs `x`, which only the call knows; use a lazy layer, as nn.LazyLinear."),
    (build_in_init, LAZY.replace("self.p = None", "self.q = None") + "            self.p = g(8)\n", (cst.Call, "g(8)"), UNKNOWN,
     "`__init__` does not set `self.p` to None."),
    (build_in_init, LAZY + "            self.p = g(8)\n", (cst.Call, "g(8)"), UNKNOWN, "`g` is not known in `__init__`."),
    (build_in_init, LAZY + "            self.p = list(self.p)\n            for p in ():\n                pass\n",
     (cst.Call, "list"), UNKNOWN, "The layer needs `p`, which only the call knows; use a lazy layer, as nn.LazyLinear."),
    (build_in_init, LAZY + "            self.p = list(self.p)\n            while True:\n                pass\n",
     (cst.Call, "list"), UNKNOWN, "The layer is made by more than plain statements."),
    (build_in_init, LAZY + "            self.p = list()\n            print(1)\n", (cst.Call, "list"), UNKNOWN,
     "Line 12 does more than make the layer."),
    (build_in_init, INIT + "        self.p = None\n        self.d = 2\n" + FORWARD
     + "        if self.p is None:\n            self.p = list(self.d)\n", (cst.Call, "list"), UNKNOWN,
     "`self.d`, which the layer needs, is not set yet where `self.p` is."),
    (plain_module, "return x", NAME_X, UNKNOWN, "This is no call of a scripted module."),
    (plain_module, "return x(1)", CALL, UNKNOWN, "Where `x` is scripted or traced is not shown in this file."),
    (plain_property, "return x.ones", (cst.Attribute, "x.ones"), UNKNOWN, "This is no cached property of this file."),
    (plain_property, NET + "    @cached_property\n    def ones(self):\n        return 1\n" + FORWARD
     + "        self.ones = x\n        return self.ones\n", (cst.Attribute, "self.ones"), UNKNOWN,
     "`ones` is stored or deleted, which a property does not allow."),
    (compile_too, "return g(x)", CALL, UNKNOWN,
     "The function that is kept out of compilation is not defined at the top of this file."),
    # Masks.
    (write_masked, "z = y[m] = x[m]", (cst.Subscript, "y[m]"), UNKNOWN, "The statement assigns more than one target."),
    (write_masked, "return x[m]", (cst.Subscript, ""), UNKNOWN, "What the mask selects is not written back to where it came from."),
    (write_masked, "z = x[m]", (cst.Subscript, ""), UNKNOWN, "What the mask selects is not written back to where it came from."),
    (reduce_masked, "z = x[m]", (cst.Subscript, ""), UNKNOWN, "What the mask selects is not used."),
    (reduce_masked, "z = x[m]\nreturn z.sum() + z.mean()", (cst.Subscript, ""), UNKNOWN,
     "`z` is reduced in more than one way, or not by a sum; write each reduction with the mask."),
    (reduce_masked, "return x[m]", (cst.Subscript, ""), UNKNOWN,
     "What the mask selects is used as it is, and its size depends on the data."),
    (reduce_masked, "return x[m].median()", (cst.Subscript, ""), UNKNOWN,
     "`median` of what a mask selects has no form with the full shape."),
    (write_masked, "y[m, 0] = 1", (cst.Subscript, ""), UNKNOWN, "The mask is one of several indices."),
    (write_masked, "y[(k := x > 0)] = 1", (cst.Subscript, ""), UNKNOWN, "The mask assigns, awaits or yields."),
    (reduce_masked, "z = torch.masked_select(x)", CALL, UNKNOWN,
     "The call of masked_select does not have the two arguments it needs."),
    (write_masked, "y[m] = g(x[m])", (cst.Subscript, "y[m]"), UNKNOWN, "`g(x)` is not computed element by element."),
    (write_masked, "y[m] = x[m][0]", (cst.Subscript, "y[m]"), UNKNOWN, "The value is more than arithmetic on what the mask selects."),
    (write_masked, "y[m] = x", (cst.Subscript, "y[m]"), UNKNOWN,
     "`x` is not shown to be one number or to be selected by the same mask."),
    (write_masked, "y[m] = x[m] * k", (cst.Subscript, "y[m]"), UNKNOWN,
     "`k` is not selected by the mask, and not shown to be one number."),
    (write_masked, "y[g(x)] = 1", (cst.Subscript, ""), UNKNOWN, "`g(x)` is not shown to have the shape of `y`; give both a name."),
    # Sorting, spellings.
    (sort_in_graph, "return max(x, key=g)", CALL, UNKNOWN,
     "Python compares the items one by one; stack them and use `torch.max`, `torch.min` or `torch.sort`."),
    (sort_in_graph, "return sorted(x, key=g)", CALL, UNKNOWN, "A key sorts in another order than the values."),
    (sort_in_graph, "return sorted(n)", CALL, UNKNOWN, "`n` is not shown to be a tensor or a list of tensors."),
    (read_global, "return x()", CALL, UNKNOWN, "This does not look up a global name."),
    (read_global, "return globals()[n]", CALL, UNKNOWN, "Line 5 does more with the globals than read one by its name."),
    (read_global, "return globals()['x']", CALL, UNKNOWN, "`x` means something else in this function."),
    (own_name, "return inspect.currentframe().f_back", CALL, UNKNOWN,
     "This does not read the name of the function that it stands in."),
    (own_name, "return [sys._getframe(0).f_code.co_name for _ in x]", CALL, UNKNOWN,
     "A lambda, a comprehension or a class body has a frame of its own."),
    (own_name, "import sys\n\n\ndef f(x, n=sys._getframe().f_code.co_name):\n    return n\n", CALL, UNKNOWN,
     "It is read where the function is defined, not in it."),
    (own_name, """return f"{f'{sys._getframe().f_code.co_name}'}" """, CALL, UNKNOWN,
     "No quotes are left for the name in this text."),
    (power, "pow = x\nreturn pow(x, 2)", CALL, UNKNOWN, "The name pow may stand for something else in this file."),
    (power, "return pow(x, 2, 3)", CALL, UNKNOWN, "This is no call of pow with two arguments."),
    (always_callable, "return callable(next(x).relu)", CALL, UNKNOWN,
     "What is asked is computed here, which must still be done."),
    (always_callable, "return x()", CALL, UNKNOWN, "This does not ask whether a method can be called."),
    # The memory of tensors.
    (reshape, "x.zero_()", CALL, UNKNOWN, "This does not resize a tensor."),
    (reshape, "return x.resize_(2)", CALL, UNKNOWN, "The resized tensor is not a plain name in a statement of its own."),
    (reshape, "x.resize_(2)", CALL, UNKNOWN,
     "`x` was not made in this function, so its owner would miss the new shape."),
    (size_of_memory, "return x.size()", CALL, UNKNOWN, "This does not ask how large the memory of a tensor is."),
    (size_of_memory, "return x.untyped_storage().data_ptr()", CALL, UNKNOWN,
     "What is read of the memory does not follow from the shape."),
    (stay_dense, "return x.to_dense()", CALL, UNKNOWN, "The sparse tensor is not made by to_sparse() in this function."),
    (stay_dense, "s = x.to_sparse()\nreturn s", CALL, UNKNOWN, "Line 6 does more with the sparse tensor than make it dense."),
    # Loops.
    (loop_in_graph, "if x > 0:\n    pass", (cst.If, ""), BOOL, "This is not the condition of a while loop."),
    (loop_in_graph, "while x.any():\n    x = x / 2\nelse:\n    pass", (cst.Call, "any"), BOOL, "The loop has an else branch."),
    (loop_in_graph, "while x.any():\n    x = (y := x)", (cst.Call, "any"), BOOL, "The loop assigns inside an expression."),
    (loop_in_graph, "while x.any():\n    print(x)", (cst.Call, "any"), BOOL,
     "The loop runs a call, and does more than assign names."),
    (loop_in_graph, "while x.any():\n    x = g(x)", (cst.Call, "any"), BOOL, "`g(x)` may have side effects."),
    (loop_in_graph, "while x.any():\n    k = x\n    x = g(k)\nreturn k", (cst.Call, "any"), BOOL,
     "`k` has no value before the loop and is read behind it."),
    # Flags of the first call.
    (take_as_set, "x = x.any()", CALL, BOOL, "This is no branch on a flag."),
    (take_as_set, "if x.any():\n    pass", CALL, BOOL, "The branch does not ask one flag of the module."),
    (take_as_set, FLAG + "if x.any() and self.ready:\n            return x\n", (cst.Call, "x.any"), BOOL,
     "The branch asks more than a flag of the module."),
    (take_as_set, FLAG + "if g(x) and self.ready:\n            return x\n        self.ready.fill_(1)\n", (cst.Attribute, "self.ready"), BOOL,
     "What the branch asks before the flag may do more than compute a value."),
    (take_as_set, FLAG + "if self.ready:\n            return x\n        self.ready.fill_(1)\n        self.ready = False\n",
     (cst.Attribute, "self.ready"), BOOL, "`ready` is not shown to be set once and for all."),
    (take_as_set, FLAG + "if self.ready:\n            return x\n        self.ready.copy_(x.any())\n", (cst.Attribute, "self.ready"), BOOL,
     "`ready` is set to what data decides."),
    (take_as_set, FLAG + "if not self.ready:\n            self.ready.fill_(1)\n        else:\n            x = x + 1\n",
     (cst.Attribute, "self.ready"), BOOL, "The branch on the flag has another side."),
    # Functions of what a mask selects.
    (call_with_all_rows, "m = x > 0\nif m.any():\n    y = x[m]\n    x[m] = g(x[m])", (cst.Call, "any"), BOOL,
     "The branch does more than write back what a mask selects."),
    (call_with_all_rows, "m = x > 0\nif y.any():\n    x[m] = g(x[m])", (cst.Call, "any"), BOOL,
     "The branch asks more than whether the mask selects anything."),
    (call_with_all_rows, "m = x > 0\nx[m], y[n] = g(x[m])", (cst.Subscript, "x[m]"), BOOL,
     "The targets are not selected by the same mask."),
    (call_with_all_rows, "m = x > 0\nx[m] = g(x[m], m.sum())", (cst.Subscript, "x[m]"), BOOL,
     "What is called does not get what the mask selects, or reads the mask in another way."),
    (call_with_all_rows, "m = x > 0\nx[m] = g(x[m].mean())", (cst.Subscript, "x[m]"), BOOL,
     "`g(x[m].mean())` draws random numbers for each row, or joins the rows."),
    (plain_iterable, "for k in tenumerate(x):\n    pass", CALL, UNKNOWN, "This does more than show how far a loop is."),
    (plain_iterable, "return tqdm(x)", CALL, UNKNOWN, "The progress bar is not what a loop runs over."),
    (plain_iterable, "for k in tqdm(*x):\n    pass", CALL, UNKNOWN, "What the progress bar runs over is not its first argument."),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].__name__}-{row[4][:40]}")
def test_refusal(make: Any, row: tuple[Rewrite, str, tuple[type[cst.CSTNode], str], Value, str]) -> None:
    rewrite, body, (kind, marker), value, sentence = row
    is_program = "\ndef f" in f"\n{body}" or "class Net" in body or body.startswith(("import torch", "if True"))
    source = body if is_program else F + "".join(f"    {line}\n" for line in body.splitlines())
    case = make(source, kind, marker, value)
    plan = first_fit(case.hit, case.editor, rewrite)
    assert isinstance(plan, Refusal)
    assert plan.reason == sentence


def sentences() -> Iterator[tuple[str, str]]:
    """Where a sentence stands, and a pattern that it matches: what is put in matches anything."""
    for file in sorted([*(ROOT / "graphdoctor" / "fixes").glob("*.py"), *(ROOT / "rules").glob("*.py")]):
        tree = ast.parse(file.read_text())
        constants = {
            n.targets[0].id: n.value
            for n in tree.body
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Refusal", "Refuse"):
                argument = node.args[0]
                given = constants.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
                text = "".join(_parts(given))
                if text.strip(f"{HOLE}. "):
                    yield f"{file.name}:{node.lineno}", ".+".join(map(re.escape, text.rstrip(".").split(HOLE)))


def _parts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _parts(value)
    else:
        yield node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else HOLE


def expected() -> str:
    """The string literals of the tests."""
    found: list[str] = []
    for file in Path(__file__).parent.parent.glob("*/test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                found.append("".join(_parts(node)))
    return "\n".join(found)


def test_every_refusal_is_expected_by_a_test() -> None:
    text = expected()
    # A reason that other code puts into a sentence of its own does not begin with a capital letter there.
    untested = [place for place, pattern in sentences() if not re.search(pattern, text, re.IGNORECASE)]
    assert untested == []
