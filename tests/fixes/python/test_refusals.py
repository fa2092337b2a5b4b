"""Why no fix is offered for what Python does around tensors: each sentence has a program that brings it about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.choose import Rewrite
from graphdoctor.fixes.forms.causal_hint import causal_hint
from graphdoctor.fixes.forms.collectives import broadcast_in_graph, wait_at_once
from graphdoctor.fixes.forms.fake_kernels import fake_of_operators
from graphdoctor.fixes.forms.gradient_functions import grad_and_value
from graphdoctor.fixes.forms.gradients import asked_leaf, grad_flag_in_eager
from graphdoctor.fixes.python.array_operators import array_as_operator
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.capture import capture_numbers, capture_shapes, trace_gradients
from graphdoctor.fixes.python.checks import assert_length, check_in_graph, constant_check
from graphdoctor.fixes.python.contexts import attention_backends, skip_context
from graphdoctor.fixes.python.defaults import default_for_none, make_default
from graphdoctor.fixes.python.definitions import hoist_definition
from graphdoctor.fixes.python.eager_only import guard_host, guard_shown
from graphdoctor.fixes.python.exit_stacks import plain_with
from graphdoctor.fixes.python.hoist import hoist_constant
from graphdoctor.fixes.python.idioms import always_callable, known_parameter, own_name, power, read_global
from graphdoctor.fixes.python.layers import build_in_init, compile_too, layer_in_init, plain_module, plain_property
from graphdoctor.fixes.python.model_settings import causal_loss
from graphdoctor.fixes.python.numpy_numbers import element_itself, python_math, shape_alone
from graphdoctor.fixes.python.operators import number_as_operator
from graphdoctor.fixes.python.setup_calls import set_up_in_init
from graphdoctor.fixes.python.whole_numbers import numbers_of_buffers
from graphdoctor.fixes.python.wrappers import plain_iterable
from graphdoctor.static.domain.events import Assert
from graphdoctor.static.domain.values import UNKNOWN, Seq, Tensor, Value

#: What the hit is at: the first node of a kind with this text in its code.
Place = tuple[type[cst.CSTNode], str]
#: A rewrite, the body of a function or a whole program, what the hit is at, what is known of it, and the sentence.
Row = tuple[Rewrite, str, Place, Value, str]

F = "import torch\n\n\ndef f(x: torch.Tensor, y=None, *, n=2):\n"
NET = "import torch\n\n\nclass Net(torch.nn.Module):\n"
INIT = NET + "    def __init__(self):\n        super().__init__()\n"
FORWARD = "\n    def forward(self, x):\n"
BOOL = Tensor("bool", 0)
LAZY = INIT + "        self.p = None\n" + FORWARD + "        if self.p is None:\n"
LINEAR = "        z = torch.nn.Linear(8, 8)\n        return z(x)\n"
PATCHED = (
    "import torch\n\n\n@torch._dynamo.config.patch(capture_scalar_outputs=True)\ndef f(x):\n    return 1 + x.item()\n"
)
NUMPY = "import numpy as np\n\n\ndef f(x):\n"
ARRAY = (
    "import torch\nimport numpy as np\n\n\ndef g(n: int, x: torch.Tensor):\n    out = np.zeros((n, 2), dtype=bool)\n"
)
CALL: Place = (cst.Call, "")
NAME_X: Place = (cst.Name, "x")

NUMBER = INIT + "        self.register_buffer('n', torch.tensor(2))\n" + FORWARD
KEEP = INIT + "        self.register_buffer('keep', torch.ones(4).bool())\n" + FORWARD

TABLE: list[Row] = [
    # A transformer that compares its mask.
    (causal_hint, "return f(*x)", CALL, UNKNOWN, "It is not known here which of the arguments is the mask."),
    (causal_hint, "return f(x)", CALL, UNKNOWN, "It is not known here which layer is called."),
    # Buffers that nothing changes.
    (read_once, "return x.item()", CALL, UNKNOWN, "This is no code of a module."),
    (read_once, INIT + "\n    @staticmethod\n    def g(x):\n        return x.item()\n", (cst.Call, "item"), UNKNOWN,
     "The code is no plain method."),
    (read_once, KEEP + "        return (self.keep & x).item()\n", (cst.Call, "item"), UNKNOWN,
     "It depends on more than buffers that nothing changes."),
    (read_once, KEEP + "        self.keep, x = x, 1\n        return self.keep.item()\n", (cst.Call, "item"),
     UNKNOWN, "It depends on more than buffers that nothing changes."),
    (read_once, KEEP + "        for self.keep in x:\n            pass\n        return self.keep.item()\n", (cst.Call, "item"),
     UNKNOWN, "It depends on more than buffers that nothing changes."),
    (read_once, KEEP + "        self.keep: int = x\n        return self.keep.item()\n", (cst.Call, "item"),
     UNKNOWN, "It depends on more than buffers that nothing changes."),
    (read_once, KEEP + "        return x[(x > 0)]\n", (cst.Subscript, "x"), UNKNOWN,
     "The mask depends on more than buffers that nothing changes."),
    (read_once, INIT + "        self.register_buffer('on', torch.tensor([1]))\n" + FORWARD + "        if self.on == 1:\n            x = x + 1\n        return x\n",
     (cst.Comparison, "self.on"), BOOL, "The buffer is a switch, which code outside of the file is to turn on or off."),
    (read_once, KEEP + "        return x[0]\n", (cst.Subscript, "x"), UNKNOWN, "No mask is among the indices."),
    (numbers_of_buffers, "return x.item()", CALL, UNKNOWN, "The class keeps no whole number in a buffer."),
    (numbers_of_buffers, KEEP + "        return x.item()\n", (cst.Call, "item"), UNKNOWN, "The class keeps no whole number in a buffer."),
    (numbers_of_buffers, INIT + "        self._n_number = 2\n        self.register_buffer('n', torch.tensor(2))\n" + FORWARD
     + "        return x + int(x.sum() + self.n)\n", (cst.Call, "int"), UNKNOWN,
     "The class has an attribute of the name that the number would get."),
    (numbers_of_buffers, NUMBER + "        return x + self.n + int(x.sum())\n", (cst.Call, "int"), UNKNOWN,
     "What is asked here depends on no whole number of a buffer."),
    (numbers_of_buffers, NUMBER + "        n = self.n * 2\n        return x + n.float() + int(n)\n", (cst.Call, "int"), UNKNOWN,
     "Line 11 does with what becomes a Python number what only a tensor allows."),
    (numbers_of_buffers, NUMBER + "        return x + int(torch.div(self.n, 2))\n", (cst.Call, "int"), UNKNOWN,
     "Line 10 does with what becomes a Python number what only a tensor allows."),
    (numbers_of_buffers, INIT + "        self.register_buffer('n', torch.arange(8).expand(1, -1))\n" + FORWARD
     + "        return x[:, : int(self.n)]\n", (cst.Call, "int"), UNKNOWN, "The class keeps no whole number in a buffer."),
    # Functions that make an array.
    (array_as_operator, NET + "\n    def g(self):\n        return np.zeros(3)\n", CALL, UNKNOWN, "This is no plain function that makes an array."),
    (array_as_operator, ARRAY + "    return list(out)\n", CALL, UNKNOWN, "`g` is not shown to give one array that numpy makes of a shape."),
    (array_as_operator, ARRAY + "    if n:\n        return n\n    return out\n", CALL, UNKNOWN,
     "`g` is not shown to give one array that numpy makes of a shape."),
    (array_as_operator, ARRAY.replace("bool", "x.dtype") + "    return out\n", CALL, UNKNOWN, "The shape and dtype of `out` are not given."),
    (array_as_operator, ARRAY.replace("(n, 2)", "(n, k)") + "    return out\n", CALL, UNKNOWN, "`k` does not follow from the arguments alone."),
    (array_as_operator, ARRAY.replace("n: int", "n: int, *rest") + "    return out\n", CALL, UNKNOWN, "An operator takes no `*args`."),
    (array_as_operator, ARRAY.replace("x: torch.Tensor", "x") + "    return out\n", CALL, UNKNOWN,
     "The annotation of `x` names no type that an operator takes."),
    (array_as_operator, ARRAY.replace("n: int, x: torch.Tensor", "n: list[int] = [2]") + "    return out\n", CALL, UNKNOWN,
     "The default of `n` is none that an operator takes."),
    (array_as_operator, ARRAY.replace("n: int, x: torch.Tensor", "n: int = next(IDS)") + "    return out\n", CALL, UNKNOWN,
     "The default of `n` is none that an operator takes."),
    (array_as_operator, ARRAY + "    x.add_(1)\n    return out\n", CALL, UNKNOWN, "The annotation of `x` names no type that an operator takes."),
    (array_as_operator, ARRAY + "    return out\n", CALL, UNKNOWN, "`g` is not called in this file."),
    (array_as_operator, ARRAY + "    return out\n\n\ndef f(x: torch.Tensor):\n    return torch.tensor(g(n=0.5, x=x))\n", CALL, UNKNOWN,
     "Line 11 gives `n` another type than its annotation says."),
    (array_as_operator, ARRAY + "    return out\n\n\ndef f(x):\n    return g(2, x).sum()\n", CALL, UNKNOWN,
     "Line 11 does more with the array than make a tensor of it."),
    (array_as_operator, ARRAY + "    return out\n\n\ndef f(x):\n    m = g(2, x)\n    k = torch.tensor(m)\n    return m, k\n", CALL, UNKNOWN,
     "Line 11 does more with the array than make a tensor of it."),
    (array_as_operator, ARRAY + "    return out\n\n\ndef f(x):\n    return torch.tensor(g(2, x), requires_grad=True)\n", CALL, UNKNOWN,
     "Line 11 does more with the array than make a tensor of it."),
    # What the first call sets up.
    (set_up_in_init, "return g(x)", CALL, UNKNOWN, "This is no method that needs nothing but the module."),
    (set_up_in_init, NET + "\n    def g(self):\n        print(1)\n", (cst.Call, "print"), UNKNOWN,
     "It is not called behind one flag of the module."),
    (set_up_in_init, NET + "\n    def g(self):\n        print(1)\n\n    def h(self):\n        if not self.ok:\n            self.g()\n",
     (cst.Call, "print"), UNKNOWN, "`self.ok` is not unset in `__init__` and set once."),
    # Numbers that Python draws.
    (number_as_operator, "return g(x)", CALL, UNKNOWN, "This is no draw of one number, and no count of memory."),
    (number_as_operator, NUMPY + "    return x * np.random.beta(*x)\n", CALL, UNKNOWN, "The call gives more than one number."),
    (number_as_operator, NUMPY + "    return x * np.random.beta(x, 1.0)\n", CALL, UNKNOWN,
     "`x` is not known to be a number."),
    (number_as_operator, "def f(x):\n    from numpy import random\n\n    return x * random.beta(1.0, 1.0)\n", CALL, UNKNOWN,
     "`random.beta` is not known when the file is imported."),
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
    (trace_gradients, "return g(x)", CALL, UNKNOWN, "It belongs before or after the call of the compiled function."),
    (trace_gradients, "x.sum().backward()\ny.step()", (cst.Call, "backward"), UNKNOWN,
     "The step of an optimizer breaks the graph, too: compile the forward pass and the loss."),
    (trace_gradients, "import torch\nfrom torch.nn.parallel import DistributedDataParallel\n\n\ndef f(x):\n    x.backward()\n", CALL, UNKNOWN,
     "Hooks of gradients, which `DistributedDataParallel` may have, do not run in a graph."),
    # Collectives.
    (broadcast_in_graph, "dist.barrier()", CALL, UNKNOWN, "Call it in the code around the compiled function."),
    (broadcast_in_graph, "y = dist.broadcast(x, 0)", CALL, UNKNOWN, "The result of the call is used, such as the handle of an asynchronous call."),
    (broadcast_in_graph, "dist.broadcast(x, 0, async_op=True)", CALL, UNKNOWN,
     "The call has arguments other than the tensor, the source rank and a group."),
    (broadcast_in_graph, "dist.broadcast(x.view(-1), 0)", CALL, UNKNOWN, "The tensor is written to twice in the rewrite; give it a name first."),
    (broadcast_in_graph, "try:\n    import torch\nexcept ImportError:\n    raise\n\n\ndef f(x):\n    dist.broadcast(x, 0)\n", CALL, UNKNOWN,
     "There is no place for an import, because the imports are not at the top of the file."),
    (wait_at_once, "dist.all_reduce(*x)", CALL, UNKNOWN, "The arguments of the call are not written out."),
    (wait_at_once, "return dist.all_reduce(x, async_op=True)", CALL, UNKNOWN, "The handle is used for more than waiting."),
    (wait_at_once, "w = dist.all_reduce(x, async_op=True)\nif w.is_completed():\n    return x", CALL, UNKNOWN,
     "The handle is used for more than waiting."),
    # Custom operators.
    (fake_of_operators, "return g(x)", CALL, UNKNOWN, "The operator does not stand at the top level of this file."),
    # Gradients of an expression.
    (grad_and_value, "return g(x)", CALL, UNKNOWN, "This is no call of `torch.autograd.grad`."),
    (grad_and_value, "y = x.sum()\nreturn torch.autograd.grad(y, [x])", (cst.Call, "autograd"), UNKNOWN,
     "It is not the gradient of one number by one tensor, each with a name."),
    (grad_and_value, "return torch.autograd.grad(y, x)", (cst.Call, "autograd"), UNKNOWN,
     "`y` is not what one statement of the function computes."),
    (grad_and_value, "z = x.sum()\nx = x * 2\nreturn torch.autograd.grad(z, x)", (cst.Call, "autograd"), UNKNOWN,
     "`x` is bound again after `z`."),
    (grad_and_value, "z = y.sum()\nreturn torch.autograd.grad(z, x)", (cst.Call, "autograd"), UNKNOWN,
     "No expression of `x` alone is differentiated."),
    (grad_and_value, "h = x * 2\nz = (h * x).sum()\nreturn torch.autograd.grad(z, x)", (cst.Call, "autograd"), UNKNOWN,
     "`h`, which the function computes, may depend on `x`, too."),
    # The history of a tensor.
    (grad_flag_in_eager, "x.requires_grad_()\nreturn torch.autograd.grad(g(x), x)", (cst.Call, "requires_grad_"), UNKNOWN,
     "The function takes gradients: what it takes them of must require them before the call."),
    (asked_leaf, "return g(x)", CALL, UNKNOWN, "No attribute that Dynamo traces has the same meaning."),
    (asked_leaf, "return g(x.grad_fn)", (cst.Attribute, "grad_fn"), UNKNOWN,
     "`grad_fn` is used for more than a test for None; do it outside the compiled function."),
    # Checks.
    (check_in_graph, "return torch._check_tensor_all(x > 0)", CALL, UNKNOWN,
     "The check is part of an expression, so it cannot be made inside the graph."),
    (check_in_graph, "torch._check(x.any())", CALL, UNKNOWN,
     "`_check` takes no tensor, in eager either; `torch._assert_async` does."),
    (check_in_graph, "torch._check_tensor_all(*x)", CALL, UNKNOWN, "The condition of the check is not written out."),
    # Values that may be Python ones, and code in a try.
    (check_in_graph, "try:\n    torch._check_tensor_all(x)\nexcept RuntimeError:\n    pass", CALL, BOOL,
     "It stands in a try, whose handlers do not see what fails inside the graph."),
    # Contexts.
    (skip_context, "stack.enter_context(x)", CALL, UNKNOWN, "The context is not entered by a with statement of its own."),
    (skip_context, "with lock:\n    return x", (cst.WithItem, "lock"), UNKNOWN,
     "The context was made elsewhere; enter it in the code that calls the compiled function."),
    (skip_context, "with profiler.profile() as p:\n    return x", (cst.Call, "profile"), UNKNOWN,
     "The block uses the context that was entered."),
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
    # Values that are computed once, and host work.
    (hoist_constant, "if True:\n    import torch\n\n    def f(x):\n        return g()\n", CALL, UNKNOWN,
     "The code is not in a function or class at module level."),
    (hoist_constant, "return torch.utils.data.get_worker_info()", (cst.Call, "get_worker_info"), UNKNOWN,
     "`torch.utils.data.get_worker_info()` gives another value in each call or place, so it is not moved."),
    (hoist_constant, "n = ctypes.c_int()\nreturn x", (cst.Call, "c_int"), UNKNOWN,
     "`ctypes.c_int()` gives another value in each call or place, so it is not moved."),
    (hoist_constant, "a = list()\na.append(x)\nreturn a", (cst.Call, "list"), UNKNOWN,
     "`a` is changed in line 6, and all calls would share it."),
    (hoist_constant, "self.lock = list()\nreturn x", (cst.Call, "list"), UNKNOWN,
     "`self.lock` keeps what is made, and all objects would share it."),
    (hoist_constant, "K = 1\n" + F + "    return abs(K)\n\n\nK = 2\n", (cst.Call, "abs"), UNKNOWN,
     "`abs(K)` needs `K`, which is not known when the file is imported."),
    (hoist_constant, "K = 1\n" + F + "    return abs(K)\n\n\ndef g():\n    global K\n", (cst.Call, "abs"), UNKNOWN,
     "`abs(K)` needs `K`, which is not known when the file is imported."),
    (hoist_constant, "import torch\n\ng()\n", CALL, UNKNOWN, "The code is not in a function or class at module level."),
    (guard_host, "for t in g():\n    n = t", CALL, UNKNOWN, "Line 5 does more than assign."),
    (guard_host, "y = time.time()\nreturn x", CALL, UNKNOWN, "`y` is an argument of the function."),
    (guard_host, "seen = []\nt = time.time()\nseen.append(t)\nreturn x * len(seen)", (cst.Call, "time.time"), UNKNOWN,
     "`seen` is changed, and used in line 8, which runs under compile too."),
    (guard_host, "os.makedirs('kept')\nreturn x", CALL, UNKNOWN, "What is written to the folder later needs it."),
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
    # Sorting, spellings.
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
    (known_parameter, "return inspect.signature(f)", CALL, UNKNOWN,
     "This does not ask whether a function has a parameter of one name."),
    (known_parameter, "return 'n' in inspect.signature(f).parameters", CALL, UNKNOWN,
     "`f` is not shown to be one function that is defined here."),
    (known_parameter, "if n:\n    def g(n):\n        return n\nreturn 'n' in inspect.signature(g).parameters", (cst.Call, "inspect"), UNKNOWN,
     "`g` may be another function where it is asked for its parameters."),
    (shape_alone, "return x.numpy().shape", CALL, UNKNOWN, "This keeps no array of a tensor in a name."),
    (shape_alone, "a = y.numpy()\nreturn a.shape", CALL, UNKNOWN, "`y` is not known to be a tensor."),
    (shape_alone, "a = x.numpy()\nreturn a.shape, a", CALL, UNKNOWN, "Line 6 reads more of the array than its shape."),
    (always_callable, "return x()", CALL, UNKNOWN, "This does not ask whether a method can be called."),
    # Functions of what a mask selects.
    (plain_iterable, "for k in tenumerate(x):\n    pass", CALL, UNKNOWN, "This does more than show how far a loop is."),
    (plain_iterable, "return tqdm(x)", CALL, UNKNOWN, "No loop iterates over the progress bar itself."),
    (plain_iterable, "for k in tqdm(*x):\n    pass", CALL, UNKNOWN, "The iterable is not the first argument of the progress bar."),
    # Settings, checks and contexts.
    (capture_numbers, PATCHED, (cst.Call, "x.item"), UNKNOWN, "Numbers of tensors are already recorded in this function."),
    (constant_check, "torch._check(x.sum() > 0, g)", CALL, UNKNOWN,
     "The message of the check is neither a string nor a lambda in the call itself."),
    (attention_backends, "return g(x)", CALL, UNKNOWN, "This is no call of sdp_kernel."),
    (attention_backends, "with sdp_kernel(False, False, False, False):\n    pass", CALL, UNKNOWN, "No backend is left."),
    (plain_with, "stack.enter_context(x)", CALL, UNKNOWN, "The stack is not made by a with statement around this."),
    (plain_with, "import contextlib\n\n\ndef f(x):\n    with contextlib.ExitStack() as s:\n        s.enter_context(x)\n",
     (cst.Call, "s.enter"), UNKNOWN, "The contexts are all that the block has."),
    # Values that only output needs, statements that are taken out.
    (guard_shown, "k = g(x.sum().item())\nprint(k)", (cst.Call, "item"), UNKNOWN, "The value is used for more than output."),
    (guard_host, "t = time.time()\nif t > 3:\n    print(g(x))\nreturn x", (cst.Call, "time.time"), UNKNOWN,
     "`t` decides the branch in line 6, which does more than output."),
    (read_global, "K = 1\n" + F + "    g = globals(); k = g['K']\n", CALL, UNKNOWN,
     "The statement shares its line with other statements."),
    # Layers and models.
    (layer_in_init, INIT + FORWARD + "        for _ in range(2):\n            z = torch.nn.Linear(8, 8)\n            x = z(x)\n        return x\n",
     (cst.Call, "torch.nn.Linear(8"), UNKNOWN, "Each round of the loop makes a layer of its own."),
    (layer_in_init, NET + "    def __init__(self): super().__init__()\n" + FORWARD + LINEAR, (cst.Call, "torch.nn.Linear(8"),
     UNKNOWN, "The class has no `__init__` of its own."),
    (layer_in_init, INIT + "        return None\n" + FORWARD + LINEAR, (cst.Call, "torch.nn.Linear(8"), UNKNOWN,
     "`__init__` returns early."),
    (causal_loss, "return g(x)", CALL, UNKNOWN, "The model is not given a name of its own, on which the loss could be set."),
    (causal_loss, "y[0] = g(x)", CALL, UNKNOWN, "The model is not given a name of its own, on which the loss could be set."),
    # Functions of numpy and math.
    (python_math, "return x.sum()", CALL, UNKNOWN, "The number does not come from a function of numpy on Python numbers."),
    (python_math, NUMPY + "    n = x\n    def g():\n        nonlocal n\n        n = np.sqrt(n * 2)\n        return n > 1\n",
     (cst.Comparison, ""), UNKNOWN, "The number does not come from a function of numpy on Python numbers."),
    (python_math, NUMPY + "    return np.isfinite(x / np.sqrt(2.0))\n", (cst.Call, "np.isfinite"), UNKNOWN,
     "`np.isfinite(x / np.sqrt(2.0))` is not shown to get Python numbers alone."),
    (python_math, NUMPY + "    return np.lcm(2, 4).reshape(1)\n", CALL, UNKNOWN, "`np.lcm(2, 4).reshape(1)` needs an array."),
    (python_math, NUMPY + "    return np.cumsum([1, 2])\n", CALL, UNKNOWN, "The sums are kept as an array."),
    (python_math, NUMPY + "    return np.ceil(2.5).astype(int).clip(0)\n", CALL, UNKNOWN, "`np.ceil(2.5).astype(int).clip(0)` needs an array."),
    (element_itself, NUMPY + "    return np.array(x)[0]\n", CALL, UNKNOWN,
     "The number is not an element of an array that is made of Python numbers."),
    (element_itself, NUMPY + "    return np.array((1, 2.5))[0]\n", (cst.Subscript, ""), UNKNOWN,
     "The number is not an element of an array that is made of Python numbers."),
    (element_itself, NUMPY + "    return np.array((2, 3))[x]\n", (cst.Subscript, ""), UNKNOWN,
     "The number is not an element of an array that is made of Python numbers."),
    (element_itself, NUMPY + "    return np.array((2, 3))[0].astype(float)\n", CALL, UNKNOWN,
     "`np.array((2, 3))[0].astype(float)` needs an array."),
    (element_itself, NUMPY + "    n = np.array((2, 3))[0]\n    return n.item()\n", (cst.Call, "n.item"), UNKNOWN,
     "`n` needs to be an array in line 6."),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].__name__}-{row[4][:40]}")
def test_refusal(refusal: Callable[..., str], row: Row) -> None:
    *program, sentence = row
    assert refusal(*program) == sentence


@pytest.mark.parametrize("value", [UNKNOWN, Seq("generator", None, UNKNOWN), Seq("map", None, UNKNOWN)])
def test_an_assertion_on_what_may_have_no_length(make: Callable[..., Any], value: Value) -> None:
    case = make("def f(x, layer):\n    assert layer\n    return x\n", cst.Assert)
    assert isinstance(case.hit.event, Assert)
    refused = assert_length(replace(case.hit.event, test=value), case.editor)
    assert refused.reason == (
        "The asserted value is an object, or not always a list: its truth may be something other than its length."
    )
