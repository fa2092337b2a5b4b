"""Why no fix is offered for what is done with tensors: each sentence has a program that brings it about."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
import pytest

from graphdoctor.fixes.branches.choose import Rewrite
from graphdoctor.fixes.forms.copies import call_with_copies, copied_items, plain_copy
from graphdoctor.fixes.forms.devices import device_arguments
from graphdoctor.fixes.forms.gradients import grad_flag_in_eager
from graphdoctor.fixes.forms.old_forms import (
    constant_without_gradient,
    detached,
    drawn_integers,
    identity,
    plain_variable,
    written_data,
)
from graphdoctor.fixes.forms.sorting import sort_by_names, sort_in_graph
from graphdoctor.fixes.forms.storage import reshape, size_of_memory, stay_dense
from graphdoctor.fixes.rows.experts import loop_over_all
from graphdoctor.fixes.rows.row_means import reduce_rows
from graphdoctor.fixes.tensors.conversions import (
    keep_list,
    keep_tensor,
    keep_truth,
    python_product,
    torch_math,
    torch_reduction,
)
from graphdoctor.fixes.tensors.counts import count_distinct, count_kept, count_selected
from graphdoctor.fixes.tensors.indices import without_indices
from graphdoctor.fixes.tensors.masked_calls import call_with_all_rows
from graphdoctor.fixes.tensors.masks import reduce_masked, write_masked
from graphdoctor.fixes.tensors.number_lists import give_size, stay_numbers
from graphdoctor.fixes.tensors.number_or_default import number_or_default
from graphdoctor.fixes.tensors.number_or_tensor import either_goes_on
from graphdoctor.fixes.tensors.other_forms import least_squares, multiplied
from graphdoctor.fixes.tensors.random_numbers import choose_by_draw, traced_choice
from graphdoctor.static.domain.values import UNKNOWN, Tensor, TorchModule, Value

#: What the hit is at: the first node of a kind with this text in its code.
Place = tuple[type[cst.CSTNode], str]
#: A rewrite, the body of a function or a whole program, what the hit is at, what is known of it, and the sentence.
Row = tuple[Rewrite, str, Place, Value, str]

F = "import torch\n\n\ndef f(x: torch.Tensor, y=None, *, n=2):\n"
MASK = "mask = one_hot(x)\n"
ARRAY = "The number is joined with an array of numpy, which takes no tensor."
HIT = "hit = mask.nonzero()\n"
WHERE = "    k, rows = torch.where(mask[e])\n"
ADD = "    out.index_add_(0, rows, x[rows])\n"
LOOP = MASK + HIT + "for e in hit:\n"
LAYER = TorchModule("torch.nn.Linear")
BOOL = Tensor("bool", 0)
MATH = "import math\n" + F
TRY = "try:\n    k = int(x)\nexcept "
CALL: Place = (cst.Call, "")
SUBSCRIPT: Place = (cst.Subscript, "x[")
CALL_ITEM: Place = (cst.Call, "item")
WITH: Place = (cst.With, "")
NAME_X: Place = (cst.Name, "x")

TWO = Tensor("bool", 2)
ONE = Tensor("bool", 1)

TABLE: list[Row] = [
    # Indices of a mask.
    (without_indices, "return x", NAME_X, TWO, "This does not compute the indices of a mask."),
    (without_indices, "k = x.nonzero()\nreturn y", CALL, TWO, "The indices are not used."),
    (without_indices, "k = g(x).nonzero()\nreturn k.sum()", CALL, TWO, "`g(x)` may have side effects."),
    (without_indices, "return x.nonzero()", CALL, TWO,
     "The indices are used in more than one way, or where their number matters."),
    (without_indices, "if n: y[(x > 0).nonzero()[:, 0]] = 0", CALL, ONE, "The mask has no name."),
    (without_indices, "k, z = torch.where(x)\nk = k + 1\nreturn k.sum()", CALL, TWO,
     "The indices are not kept in names of their own."),
    (without_indices, "k = x.nonzero()[:, 0]\nreturn y[k] + 1", CALL, ONE,
     "What the indices select is used as it is, and its size depends on the data."),
    (without_indices, "k = x.nonzero()[:, 0]\nreturn y[k].sum(1)", CALL, ONE, "`y[k].sum(1)` has no form with the full shape."),
    (without_indices, "k = x.nonzero()[:, 0]\nreturn g(y)[k].sum(0)", CALL, ONE,
     "`g(y)` has no name, and its dimensions are not known."),
    (without_indices, "k = x.nonzero()[:, 0]\ny[k] @= 2", CALL, ONE,
     "What is selected is written back with an operator that has no plain form."),
    # Different values that are counted.
    (count_distinct, "return x.nonzero()", CALL, ONE, "This does not compute the distinct values of a tensor."),
    (count_distinct, "k = x.unique()\nreturn y[: len(k)] + k.sum()", CALL, ONE, "The values are used, and not only how many there are."),
    (count_distinct, "k = torch.unique(g(x))\nreturn y * len(k)", CALL, ONE, "`g(x)` would be computed more than once."),
    (count_distinct, "k = torch.unique(x, dim=0)\nreturn y * len(k)", CALL, TWO,
     "More is used than the distinct values of a whole tensor."),
    (count_distinct, "k = x.unique(True)\nreturn y * len(k)", CALL, TWO,
     "More is used than the distinct values of a whole tensor."),
    # What may be a number or a tensor.
    (either_goes_on, "return y * x.item()", CALL_ITEM, ONE, "The number does not take the place of what may be a tensor or a number."),
    (either_goes_on, "if n:\n    x = x.item()\nreturn y * x", CALL_ITEM, ONE,
     "The number does not take the place of what may be a tensor or a number."),
    (either_goes_on, "if torch.is_tensor(x):\n    x = x.item()\nx = x + 1\nreturn y * x", CALL_ITEM, ONE, "`x` is assigned more than once."),
    (either_goes_on, "if torch.is_tensor(x):\n    x = x.item()\nif x > 1:\n    y = y * 2\nreturn y * x", CALL_ITEM, ONE,
     "Line 7 needs to know whether `x` is a number."),
    # How much a mask selects.
    (count_selected, "return len(x[0])", SUBSCRIPT, UNKNOWN, "This selects by no mask alone."),
    (count_selected, "return len(x[(x > 0), 0])", SUBSCRIPT, UNKNOWN, "This selects by no mask alone."),
    (count_selected, "return x[x > 0].sum()", SUBSCRIPT, UNKNOWN, "What the mask selects is used, and not only how much it is."),
    (count_selected, "return y * len(x[(x > 0) & g(x)])", SUBSCRIPT, UNKNOWN, "`g(x)` may have side effects."),
    (count_selected, "m = x > 0\nk = x[m]\nm[:] = True\nreturn y * len(k) * k.numel()", SUBSCRIPT, UNKNOWN, "Both the rows and the numbers of `k` are counted."),
    # Numbers that multiply, and systems of equations.
    (multiplied, "return g(x)", CALL, UNKNOWN, "No number in this call multiplies one of its arguments."),
    (multiplied, "return x.add(y, n)", CALL, UNKNOWN, "`alpha` is not passed by name, after the tensors."),
    (least_squares, "return torch.linalg.lstsq(x, y)", CALL, UNKNOWN,
     "More than the solution is kept, and how much there is of the rest depends on data."),
    (least_squares, "return torch.linalg.lstsq(x, y).rank", CALL, UNKNOWN,
     "More than the solution is kept, and how much there is of the rest depends on data."),
    (least_squares, "return torch.linalg.lstsq(x, y, driver=n).solution", CALL, UNKNOWN, "The call says how the system is solved."),
    # Contexts.
    (device_arguments, "with lock:\n    return x", (cst.WithItem, "lock"), UNKNOWN,
     "This does not set the device of new tensors for a block."),
    (device_arguments, "with torch.device(0), torch.no_grad():\n    return x", CALL, UNKNOWN,
     "The statement enters more than the device."),
    (device_arguments, "with torch.device(0):\n    return g(x)", CALL, UNKNOWN,
     "`g(x)` may create tensors of its own on the device."),
    (device_arguments, 'with torch.device(0):\n    s = """a\n    b"""', CALL, UNKNOWN, "A string of several lines would be moved."),
    # Numbers that stay tensors.
    (keep_list, "return list(x)", CALL, UNKNOWN, "The list is not made by a plain call of tolist()."),
    (keep_truth, "with lock:\n    return x", WITH, UNKNOWN, "What is tested is not an expression."),
    (python_product, "return x.reshape(x.numel())", (cst.Call, "numel"), UNKNOWN,
     "The number is not shown to come from Python numbers alone, so it stays a numpy number."),
    (python_product, "def f(x):\n    return np.prod(x.shape)\n", CALL, UNKNOWN, "The file has no import at its top."),
    (python_product, "return np.prod(x)", CALL, UNKNOWN, "`x` is not shown to be a shape."),
    (torch_reduction, "return x.numpy().mean()", CALL, UNKNOWN, "The array is not read as one number."),
    (torch_reduction, "return x.numpy().std().item()", CALL, UNKNOWN,
     "The number is not a reduction that numpy and torch compute alike."),
    (keep_tensor, F + "    k = x.sum().item()\n    return x[0, :k].cumsum(0)\n", CALL_ITEM, Tensor("float", 0),
     "`x[0, :k]` is more than summed, averaged or compared over its rows."),
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
    (plain_copy, "return copy.copy(x)", CALL, UNKNOWN, "What is copied is not known to be a dict, list, set or dataclass."),
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
     "`z` of the loop is used after it."),
    (loop_over_all, LOOP + WHERE + "    n += 1\n" + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "Line 9 of the loop does more than compute the rows."),
    (loop_over_all, LOOP + WHERE + "    x.kept = rows\n" + ADD, (cst.Call, "nonzero"), UNKNOWN,
     "Line 9 of the loop stores rows for other code."),
    # Sums over the rows that a mask selects.
    (reduce_rows, "return x[m].mean()", (cst.Subscript, ""), UNKNOWN, "What the mask selects is not summed over its rows."),
    (reduce_rows, "return x[m, n].mean(0)", (cst.Subscript, ""), UNKNOWN, "The mask is one of several indices."),
    (reduce_rows, "return g(x)[m].mean(0)", (cst.Subscript, ""), UNKNOWN,
     "`g(x)` has no name, and would be computed more than once."),
    (reduce_rows, "return n or x[x > 1].mean(0)", (cst.Subscript, ""), UNKNOWN,
     "`x > 1` has no name, and may not be computed where its line begins."),
    # Gradients.
    (grad_flag_in_eager, "return x.requires_grad_()", CALL, UNKNOWN, "This is not a statement that only asks for gradients."),
    (grad_flag_in_eager, "z = y = x.requires_grad_()", CALL, UNKNOWN, "The statement assigns more than one target."),
    (grad_flag_in_eager, "z = x.requires_grad_(); y = 1", CALL, UNKNOWN, "The statement shares its line with other code."),
    # Masks.
    (write_masked, "z = y[m] = x[m]", (cst.Subscript, "y[m]"), UNKNOWN, "The statement assigns more than one target."),
    (write_masked, "return x[m]", (cst.Subscript, ""), UNKNOWN, "What the mask selects is not written back to where it came from."),
    (write_masked, "z = x[m]", (cst.Subscript, ""), UNKNOWN, "What the mask selects is not written back to where it came from."),
    (reduce_masked, "z = x[m]", (cst.Subscript, ""), UNKNOWN, "What the mask selects is not used."),
    (reduce_masked, "z = x[y]\ny = x > 1\nreturn z.mean()", (cst.Subscript, ""), UNKNOWN,
     "`y` may change before what the mask selects is reduced; write the reduction with the mask."),
    (reduce_masked, "z = x[y]\nx.add_(1)\nreturn z.mean()", (cst.Subscript, ""), UNKNOWN,
     "`x` may change before what the mask selects is reduced; write the reduction with the mask."),
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
    # Functions of what a mask selects.
    (count_kept, "return torch.bincount(x, minlength=3)", CALL, UNKNOWN, "What is counted is not selected by one mask."),
    (count_kept, "return torch.bincount(x[y], minlength=3)", CALL, UNKNOWN, "What is counted is not selected by one mask."),
    (count_kept, "return torch.bincount(x[x.clamp_(0) > 0], minlength=3)", CALL, UNKNOWN,
     "`x[x.clamp_(0) > 0]` would be computed in another order."),
    (count_kept, "return g(x) + torch.bincount(x[x > 0], minlength=3)", (cst.Call, "bincount"), UNKNOWN,
     "The count stands in the middle of a statement."),
    (call_with_all_rows, "m = x > 0\nif m.any():\n    y = x[m]\n    x[m] = g(x[m])", (cst.Call, "any"), BOOL,
     "`y` is used outside the branch too."),
    (call_with_all_rows, "m = x > 0\nif y.any():\n    x[m] = g(x[m])", (cst.Call, "any"), BOOL,
     "The branch tests more than whether the mask selects anything."),
    (call_with_all_rows, "m = x > 0\nx[m], y[n] = g(x[m])", (cst.Subscript, "x[m]"), BOOL,
     "The targets are not selected by the same mask."),
    (call_with_all_rows, "m = x > 0\nj = y[m]\nx[j] = x[j] * 2 + n * x[m]", (cst.Subscript, "x[m]"), BOOL,
     "The targets are not selected by the same mask."),
    (call_with_all_rows, "m = x > 0\nx[m] = g(x[m], m.sum())", (cst.Subscript, "x[m]"), BOOL,
     "What is called does not get what the mask selects, or reads the mask in another way."),
    (call_with_all_rows, "m = x > 0\nx[m] = g(x[m].mean())", (cst.Subscript, "x[m]"), BOOL,
     "`g(x[m].mean())` draws random numbers for each row, or joins the rows."),
    (call_with_all_rows, "m = x > 0\nd = y[m] * 2\nx[m] = x[m] + d", (cst.Subscript, "x[m]"), BOOL,
     "How many rows `d` has depends on the data."),
    (call_with_all_rows, "m = x > 0\ni, d = (y[m] * 2).chunk(2)\nd = d.tanh()\nx[m] = x[m] + d", (cst.Subscript, "x[m]"), BOOL,
     "How many rows `d` has depends on the data."),
    # Functions of numpy and math.
    (torch_math, "return x.sum()", CALL, UNKNOWN, "Torch has no function of this name for one tensor."),
    (torch_math, MATH + "    return math.sqrt(x, x)\n", CALL, UNKNOWN, "Torch has no function of this name for one tensor."),
    (torch_math, MATH + "    return math.sqrt(2)\n", CALL, UNKNOWN, "`2` is not known to be a tensor."),
    (torch_math, MATH + "    return math.hypot(x, 2)\n", CALL, UNKNOWN, "`torch.hypot` takes no number."),
    # Copies and masks.
    (copied_items, "return copy.copy(x)", CALL, UNKNOWN, "This is no deep copy."),
    (copied_items, "import copy\n\n\ndef f(x):\n    return copy.deepcopy(x)\n", CALL, UNKNOWN,
     "What is copied is not known to be a list or dict of tensors."),
    (reduce_masked, "return x.sum()", CALL, UNKNOWN, "This is no selection by a mask."),
    # Numbers that are read of tensors.
    (keep_tensor, "k = x.max().item()\nif k > 1:\n    print(k)\n    x = x + 1\nreturn x", (cst.Call, "item"), UNKNOWN,
     "The number is shown as text, where a tensor looks different."),
    (keep_tensor, "k = x.max().item()\nreturn math.hypot(k, 2)", (cst.Call, "item"), UNKNOWN, "`torch.hypot` takes no number."),
    (stay_numbers, "with lock:\n    return x", WITH, UNKNOWN, "No number is read here."),
    (stay_numbers, "return x.item()", CALL, UNKNOWN, "The tensor is not made of Python numbers here."),
    (stay_numbers, "return torch.tensor([1, 2]).item()", CALL, UNKNOWN, "One number is read of more than one."),
    (sort_by_names, "return sorted(x)", CALL, UNKNOWN, "What is sorted are not the items of a dict."),
    (sort_by_names, "return sorted(x.items(), key=len)", CALL, UNKNOWN, "A key sorts in another order than the names."),
    (give_size, "return x.sum()", CALL, UNKNOWN, "The size of what comes out is no sum of Python numbers."),
    (give_size, "return x.repeat_interleave(y)", CALL, UNKNOWN, "The repeats are not made of Python numbers here."),
    (give_size, "return x.repeat_interleave(torch.tensor(list(x.shape)))", CALL, UNKNOWN,
     "`list(x.shape)` has no name, and would be computed more than once."),
    (give_size, "return (x + 1).repeat_interleave(torch.tensor([1, 2]))", CALL, UNKNOWN,
     "`(x + 1)` has no name, so how many rows it has is not known before."),
    (give_size, "import torch\n\n\ndef sum(a):\n    return a\n\n\ndef f(x):\n    return x.repeat_interleave(torch.tensor([1, 2]))\n", (cst.Call, "repeat_interleave"), UNKNOWN,
     "The name sum or len may stand for something else in this file."),
    (number_or_default, "return x.item()", CALL, UNKNOWN, "This makes no whole number of a tensor."),
    (number_or_default, "k = int(x)\nreturn k", CALL, UNKNOWN, "It does not stand in a try alone."),
    (number_or_default, "try:\n    k = int(x)\n    n = 1\nexcept ValueError:\n    k = 0", CALL, UNKNOWN,
     "The try does more than make the number."),
    (number_or_default, "try:\n    return int(x)\nexcept ValueError:\n    return 0", CALL, UNKNOWN,
     "The try does more than make the number."),
    (number_or_default, "try:\n    y[0] = int(x)\nexcept ValueError:\n    y[0] = 0", CALL, UNKNOWN,
     "The number is not kept in a name."),
    (number_or_default, TRY + "ValueError:\n    k = 0\nreturn k", CALL, UNKNOWN,
     "What `int` raises for NaN or infinity is not handled."),
    (number_or_default, TRY + "ValueError:\n    k = 0\nexcept OverflowError:\n    k = 1\nreturn k", CALL, UNKNOWN,
     "The handlers give several defaults."),
    (number_or_default, TRY + "Exception:\n    pass\nreturn k", CALL, UNKNOWN,
     "A handler does more than give a default number."),
    # Old ways to make or change a tensor.
    (plain_variable, "return g(x)", CALL, UNKNOWN, "This is no call of Variable."),
    (plain_variable, "return torch.autograd.Variable(data=x)", CALL, UNKNOWN,
     "The tensor is not the first argument of Variable."),
    (constant_without_gradient, "with lock:\n    return x", WITH, UNKNOWN, "No tensor is made here."),
    (constant_without_gradient, "return torch.zeros(3)", CALL, UNKNOWN, "`requires_grad` is not given by its name."),
    (drawn_integers, "return g(x)", CALL, UNKNOWN, "This is no call of random_."),
    (drawn_integers, "return torch.empty_like(x).random_()", CALL, UNKNOWN,
     "Without bounds each dtype has a range of its own: give `random_` its bounds."),
    (drawn_integers, "return x.random_(to=2)", CALL, UNKNOWN, "The bounds of random_ are not its first arguments."),
    (written_data, "return x", NAME_X, UNKNOWN, "This does not store into the data of one tensor."),
    (written_data, "x.grad = y", (cst.Attribute, "x.grad"), UNKNOWN, "This does not store into the data of one tensor."),
    (detached, "return x", NAME_X, UNKNOWN, "This does not set the flag of one tensor."),
    (detached, "x.requires_grad = n > 1\nreturn x", (cst.Attribute, "x.requires_grad"), UNKNOWN,
     "This does not turn off the gradient of one tensor."),
    (detached, "y.x.requires_grad = False\nreturn x", (cst.Attribute, "y.x.requires_grad"), UNKNOWN,
     "The tensor is no name of the function, so other code may read its flag."),
    (detached, "y = x\nx.requires_grad = False\nreturn y", (cst.Attribute, "x.requires_grad"), UNKNOWN,
     "`x` may have another name, under which it would still require gradients."),
    (detached, "y = [x]\nx.requires_grad = False\nreturn y", (cst.Attribute, "x.requires_grad"), UNKNOWN,
     "`x` may have another name, under which it would still require gradients."),
    (detached, "y.append(x)\nx.requires_grad = False\nreturn y", (cst.Attribute, "x.requires_grad"), UNKNOWN,
     "`x` may have another name, under which it would still require gradients."),
    (identity, "return g(x)", CALL, UNKNOWN, "This does not compute the hash of a tensor."),
    (identity, F + "    return hash(x)\n\n\nid = 3\n", CALL, UNKNOWN,
     "The name hash or id may stand for something else in this file."),
    # Arrays of numpy, which take no tensor as an operand.
    (keep_tensor, "a = x.detach().numpy()\na *= x.sum().item()", (cst.Call, ".item"), UNKNOWN, ARRAY),
    (keep_tensor, "a = x.detach().numpy()\nreturn 1 - x.sum().item() * a", (cst.Call, ".item"), UNKNOWN, ARRAY),
    (keep_tensor, "a = x.detach().numpy()\nk = x.sum().item() / 2\nreturn a > k", (cst.Call, ".item"), UNKNOWN, ARRAY),
    # Random numbers of Python.
    (traced_choice, "return random.choice([n, 2])", CALL, UNKNOWN,
     "The choices are not all number literals, so no tensor can hold them."),
    (choose_by_draw, "return x * random.random()", CALL, UNKNOWN, "No branch tests the number."),
    (choose_by_draw, "k = random.random()\nreturn x * k", CALL, UNKNOWN, "The number does not decide one branch."),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].__name__}-{row[4][:40]}")
def test_refusal(refusal: Callable[..., str], row: Row) -> None:
    *program, sentence = row
    assert refusal(*program) == sentence
