"""Names of functions, classes and packages that Dynamo does not trace, and what to call in their place."""

from __future__ import annotations

from graphdoctor.static.domain.decorators import CACHED_CLASSMETHOD, CACHED_METHOD
from graphdoctor.static.domain.torch_tables import ASKED_FOR_PARAMETERS

#: What makes a function an attribute of a class.
DECORATORS = ("builtins.property", "builtins.staticmethod", "builtins.classmethod")

#: Functions, or packages all of whose functions, that were seen to break on torch 2.13.
UNTRACED = frozenset((
    "hashlib", "uuid", "ctypes", "gc", "bisect", "zlib", "base64", "binascii", "secrets", "csv", "unicodedata",
    "pickle", "cmath", "array", "signal", "atexit", "locale", "resource", "tracemalloc", "decimal.Decimal",
    "decimal.getcontext",
    "statistics.mean", "statistics.stdev", "statistics.mode", "statistics.variance", "statistics.pstdev",
    "statistics.pvariance", "statistics.correlation", "statistics.covariance", "statistics.linear_regression",
    "statistics.geometric_mean", "statistics.harmonic_mean", "statistics.median_grouped",
    "heapq.heappush", "heapq.heappop", "heapq.heapify", "heapq.heappushpop", "heapq.heapreplace", "heapq.nlargest",
    "heapq.nsmallest", "urllib.parse.quote", "urllib.parse.quote_plus", "urllib.parse.urlencode",
    "urllib.parse.urljoin", "shlex.split", "calendar.monthrange", "types.MethodType",
    "operator.indexOf", "collections.deque.rotate", "collections.Counter.most_common",
    "decimal.localcontext", "decimal.Context", "weakref.finalize", "opt_einsum.contract", "opt_einsum.contract_path",
    "ast.literal_eval", "ast.parse",
    "threading.get_ident", "threading.current_thread", "threading.active_count", "threading.Thread",
    "threading.Lock", "threading.RLock", "threading.Event", "multiprocessing.cpu_count", "queue.Queue",
    "concurrent.futures", "string.Template.substitute", "string.Formatter", "contextvars.ContextVar",
    "contextvars.copy_context", "weakref.proxy", "functools.cmp_to_key", "functools.lru_cache", "functools.cache",
    "itertools.combinations_with_replacement", "struct.calcsize", "fnmatch.fnmatch", "configparser.ConfigParser",
    "argparse.ArgumentParser", "pprint.pformat", "enum.auto", "sys.getrefcount",
    "sys.gettrace", "builtins.object", "builtins.dir", "builtins.memoryview", "builtins.bytearray", "builtins.bytes",
    *DECORATORS,
    "numpy.isscalar", "numpy.vectorize", "numpy.datetime64", "numpy.testing", "numpy.allclose",
    "numpy.polynomial", "numpy.array_equal", "numpy.ndindex", "numpy.ndenumerate", "pydantic.BaseModel",
    "torch.utils.dlpack", "torch.from_dlpack", "torch.to_dlpack",
    "triton.testing.do_bench", "torch.frombuffer", "torch.lobpcg", "torch.typename", "torch.jit.script",
    "torch.jit.isinstance", "torch.jit.fork", "torch.jit.wait", "torch.utils.checkpoint.checkpoint_sequential",
    "torch._C._is_tracing", "numpy.random.SeedSequence", "numpy.random.RandomState",
    "torch.autograd.Variable", "torch.cov", "torch.corrcoef", "torch.nn.functional.gaussian_nll_loss",
    "torch.nn.GaussianNLLLoss.forward", "torch.Tensor.cov", "torch.Tensor.corrcoef",
    "torch.distributions.Wishart", "torch.distributions.Binomial.entropy", "torch.distributions.Multinomial.entropy",
    "torch.Tensor.random_", "torch.Tensor.is_signed", "torch.Tensor.is_conj", "torch.resize_as_",
    "torch.is_conj", "torch.is_distributed", "torch.is_neg", "torch.is_same_size", "torch.is_signed",
    "torch.is_storage", "torch.func.functionalize", "torch.func.linearize", "torch.distributions.VonMises.sample",
    "torch.distributions.Binomial.enumerate_support", "torch.distributions.Binomial.perplexity",
    "torch.distributions.Multinomial.perplexity", "torch.Tensor.dim_order",
    "torch.Tensor.is_neg", "torch.Tensor.is_pinned", "torch.Tensor.is_set_to", "torch.Tensor.is_inference",
    "torch.compiler.disable", "torch._dynamo.disable", "torch.quasirandom.SobolEngine", "torch.amp.custom_fwd",
    "torch.amp.custom_bwd", "builtins.int.to_bytes", "enum.StrEnum",
    "re.finditer", "re.compile.finditer", "numpy.pad", "builtins.str.maketrans", "torch.utils.data",
))  # fmt: skip

#: Methods of ``object`` that are traced, unlike ``object()``.
OF_OBJECT = frozenset(f"builtins.object.__{name}__" for name in ("init", "new", "repr", "setattr"))

#: What keeps a function out of compilation.
DISABLING = ("torch.compiler.disable", "torch._dynamo.disable")

#: Objects that other code made, and whose call is not traced.
OBJECTS = frozenset({"typing.NewType.__call__"})

#: Callables that are traced where the trace makes them, and not where they come from outside.
GETTERS = ("operator.attrgetter.__call__", "operator.itemgetter.__call__", "operator.methodcaller.__call__")

#: Functions that are traced with a list or tuple, and not with what is made item by item.
WITH_LISTS = frozenset({"math.prod", "math.fsum"})

#: What looks up a formula for two classes of distributions, and keeps it.
DIVERGENCES = ("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence")

#: Distributions for which torch has one formula; for others, such as those of the exponential family, it has several.
ONE_FORMULA = frozenset((
    "Categorical", "Cauchy", "Geometric", "Laplace", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Uniform",
))  # fmt: skip

#: Classes whose objects are traced where they were made before.
MADE_BEFORE = frozenset({"types.SimpleNamespace"})

#: What makes objects that hold what the code puts into them: a function that one holds is traced as any other.
HOLDERS = frozenset({"types.ModuleType", "types.new_class", "threading.local", "dataclasses.make_dataclass"})

#: What makes numpy arrays: of numbers Dynamo makes tensors, of objects it cannot.
ARRAYS = frozenset(f"numpy.{name}" for name in ("array", "asarray", "empty", "full", "ones", "zeros"))

#: Those that break on some versions of torch only.
ON_SOME = {
    "torch.nn.init.trunc_normal_": ">=2.13",
    "builtins.pow": "<2.14",
    "torch._C._is_tracing": "<2.15",
    "builtins.staticmethod": "<2.15",
    "builtins.classmethod": "<2.15",
    "torch.clear_autocast_cache": "<2.12",
    "torch.backends.cuda.SDPAParams": "<2.14",
}

DISTRIBUTIONS = frozenset({"torch.distributions"})

#: The method that only matches of `re` have, and whose dict is none that a trace takes for a constant.
OF_MATCHES = ".groupdict"

#: Methods of a module that put a hook on it, and the one that copies other parameters into it.
OF_MODULES = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "load_state_dict",
)  # fmt: skip

#: Makes a tensor of another class out of one.
AS_SUBCLASS = "torch.Tensor.as_subclass"

#: What to do instead of some of the calls.
INSTEAD = {
    ASKED_FOR_PARAMETERS: "ask at module level what parameters the function has, and keep the answer",
    **dict.fromkeys(
        (CACHED_METHOD, CACHED_CLASSMETHOD), "put the cached function at module level, where Dynamo traces it"
    ),
    **dict.fromkeys(WITH_LISTS, "give it a list"),
    **dict.fromkeys(OBJECTS, "pass the value as it is, or use `typing.cast`, which is traced"),
    **dict.fromkeys(MADE_BEFORE, "give a dict, a named tuple or an object of a dataclass, which are traced"),
    **dict.fromkeys(DISABLING, "define the function outside the compiled code, and keep it out of compilation there"),
    "torch.autograd.Variable": "write `x.detach()`, which is what `Variable(x)` has given since torch 0.4",
    "numpy.ndim": "read the attribute `ndim` of the array, which is traced",
    "numpy.size": "read the attribute `size` of the array, which is traced",
    "torch.utils.checkpoint.checkpoint_sequential": (
        "call `checkpoint`, which is traced, for each part of the layers: `x = checkpoint(part, x, ...)`"
    ),
    "builtins.pow": "write it with the operator `**`",
    AS_SUBCLASS: "leave it out where the tensor is of that class already, or make it plain before the compiled call",
    "pydantic.BaseModel": "check the values before the compiled call, and pass them as they are",
}
