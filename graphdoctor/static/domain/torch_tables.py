"""What the static pass knows of torch, numpy and Python: what a call gives back, and which arguments must be numbers.

Checked on torch 2.13.0. What *breaks* the graph is not here: each rule in ``rules/`` names the calls that it watches.
A new method of tensors goes into ``tensor_methods.py`` first: what is not there is taken for no method of a tensor.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from itertools import accumulate


def words(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


#: The methods of a module that register a function which runs in its call.
FORWARD_HOOKS = words("register_forward_hook register_forward_pre_hook")


#: The usual names of modules, and of what is imported from them. Behind ``from fastai.imports import *`` a file has
#: them without an import of its own.
CONVENTIONAL_NAMES = {
    "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "Module": "torch.nn.Module",
    "Tensor": "torch.Tensor", "optim": "torch.optim", "np": "numpy", "math": "math", "random": "random",
    "warnings": "warnings", "time": "time", "partial": "functools.partial", "OrderedDict": "collections.OrderedDict",
    "Optional": "typing.Optional", "Union": "typing.Union", "List": "typing.List", "Tuple": "typing.Tuple",
    "Dict": "typing.Dict",
}  # fmt: skip

#: Attributes that only tensors have: reading one on an unannotated argument is evidence that it is a tensor.
TENSOR_EVIDENCE = words(
    """
    abs add all amax amin any argmax argmin argsort backward bfloat16 bmm bool chunk clamp clip clone contiguous copy_
    cpu cuda cumsum detach device dim double dtype erf exp expand expand_as fill_ flatten flip float gather grad half
    index_add index_add_ index_copy index_copy_ index_select int is_contiguous isnan item log logical_and logical_not
    logical_or long masked_fill masked_fill_ masked_scatter masked_select matmul max mean min mm mul ndim new_empty
    new_full new_ones new_tensor new_zeros nonzero norm numel permute pow prod relu repeat repeat_interleave
    requires_grad_ reshape rsqrt scatter scatter_ scatter_add scatter_add_ shape sigmoid sin size softmax split sqrt
    squeeze std sum t tanh tolist topk transpose tril triu type_as unbind unfold unique unsqueeze var view view_as
    zero_
    """
)

#: The names of the base of functions with a backward of their own.
AUTOGRAD_FUNCTION = ("torch.autograd.Function", "torch.autograd.function.Function")

#: Tensor attributes that are not tensor data.
TENSOR_META = {
    "ndim": "int", "dtype": "dtype", "device": "device", "layout": "object", "requires_grad": "bool",
    "is_cuda": "bool", "is_cpu": "bool", "is_sparse": "bool", "is_leaf": "bool", "is_meta": "bool",
    "is_quantized": "bool", "is_complex": "bool", "itemsize": "int", "nbytes": "int", "names": "object",
    "retains_grad": "bool", "_version": "int", "is_nested": "bool", "name": "object", "size": "int",
}  # fmt: skip

#: Tensor methods that give a Python value a trace may look at, by its kind.
META_METHODS = {
    "dim": "int", "ndimension": "int", "numel": "int", "nelement": "int", "element_size": "int", "get_device": "int",
    "stride": "int", "storage_offset": "int", "is_contiguous": "bool", "is_floating_point": "bool",
    "is_complex": "bool", "is_signed": "bool", "is_pinned": "bool", "is_shared": "bool", "is_inference": "bool",
    "is_set_to": "bool", "is_conj": "bool", "is_same_size": "bool", "has_names": "bool", "__len__": "int",
    "register_hook": "object", "register_post_accumulate_grad_hook": "object", "untyped_storage": "object",
    "storage": "object", "data_ptr": "int", "allclose": "bool", "equal": "bool",
    "is_nonzero": "bool", "__dlpack__": "object", "share_memory_": "object", "backward": "object",
}  # fmt: skip

#: Functions and methods whose result has dtype bool.
BOOL_OPS = words(
    """
    eq ne lt le gt ge equal_ isnan isinf isfinite isposinf isneginf isreal isclose isin logical_and logical_or
    logical_not logical_xor logical_and_ logical_or_ logical_not_ greater greater_equal less less_equal not_equal
    signbit any all bool BoolTensor is_nonzero_
    """
)

#: Functions and methods whose result has an integer dtype.
INT_OPS = words(
    """
    argmax argmin argsort nonzero nonzero_static argwhere count_nonzero bincount searchsorted bucketize
    long int short char byte randperm randint randint_like LongTensor IntTensor tril_indices triu_indices
    multinomial one_hot
    """
)

#: Functions and methods whose result is a float.
FLOAT_OPS = words(
    """
    float double half bfloat16 rand randn rand_like randn_like mean std var softmax log_softmax sigmoid exp sqrt
    rsqrt log log2 log1p sin cos tanh linspace norm normal dropout linear conv1d conv2d conv3d layer_norm
    scaled_dot_product_attention gelu relu silu cross_entropy mse_loss interpolate FloatTensor
    """
)

#: Functions and methods that keep the dtype of their first operand, beside those that work in place.
SAME_DTYPE_OPS = words(
    """
    clone detach contiguous reshape view expand expand_as repeat flatten squeeze unsqueeze permute transpose t flip
    roll unfold gather index_select take narrow select masked_fill masked_select new_zeros new_ones new_full
    zeros_like ones_like empty_like full_like cpu cuda data T mT abs neg clamp clip max min amax amin
    sort topk kthvalue triu tril diagonal diag chunk split unbind broadcast_to movedim swapaxes view_as
    masked_scatter index_fill index_copy index_put scatter repeat_interleave tile pad atleast_1d atleast_2d atleast_3d
    nan_to_num cartesian_prod combinations
    """
)

#: Functions that make one tensor of a list of them.
JOINS = words("cat concat concatenate stack hstack vstack dstack row_stack column_stack")

#: Reductions: without a dim argument the result is 0-d.
REDUCTIONS = words(
    """
    sum mean prod max min amax amin any all std var norm argmax argmin median logsumexp count_nonzero nansum nanmean
    numel trace dot vdot
    """
)

#: Functions and methods that give a tuple of tensors, by its length (0: unknown).
TUPLE_OPS = {
    "split": 0, "chunk": 0, "unbind": 0, "tensor_split": 0, "hsplit": 0, "vsplit": 0, "dsplit": 0, "meshgrid": 0,
    "split_with_sizes": 0, "unsafe_split": 0, "unsafe_chunk": 0, "broadcast_tensors": 0, "atleast_1d_": 0,
    "topk": 2, "sort": 2, "kthvalue": 2, "mode": 2, "median_": 2, "cummax": 2, "cummin": 2, "aminmax": 2, "frexp": 2,
    "var_mean": 2, "std_mean": 2, "svd": 3, "qr": 2, "eigh": 2, "eig": 2, "slogdet": 2, "lu": 3, "lu_factor": 2,
    "geqrf": 2, "triangular_solve": 2, "symeig": 2, "lstsq": 4, "multi_head_attention_forward": 2, "unravel_index": 0,
    "max_pool2d_with_indices": 2,
}  # fmt: skip

#: Fields of the named tuples that torch gives, by position: `torch.max(x, 1).values`, `torch.linalg.svd(x).S`.
FIELDS = {
    "values": 0, "indices": 1, "U": 0, "S": 1, "V": 2, "Vh": 2, "Q": 0, "R": 1, "P": 0, "L": 1,
    "eigenvalues": 0, "eigenvectors": 1, "sign": 0, "logabsdet": 1, "mantissa": 0, "exponent": 1, "solution": 0,
    "min": 0, "max": 1,
}  # fmt: skip

#: Elementwise functions that take Python numbers too: ``torch.div(n, 2)``.
NUMBER_OPS = words("add sub mul div true_divide floor_divide remainder fmod pow ceil floor round sqrt")

#: Functions and methods that keep the shape of their first operand.
SAME_SHAPE_OPS = words(
    """
    clone detach contiguous to float double half bfloat16 bool long int short byte cpu cuda abs neg exp log log2 log10
    log1p sqrt rsqrt square reciprocal sin cos tanh sigmoid relu gelu silu softmax log_softmax softplus erf sign floor
    ceil round trunc isnan isinf isfinite logical_not clamp clip cumsum cumprod argsort roll flip tril triu masked_fill
    masked_fill_ nan_to_num dropout layer_norm normalize zeros_like ones_like empty_like full_like rand_like randn_like
    randint_like bucketize
    """
)

#: Functions and methods whose result has a number of rows that depends on data.
DATA_SIZED = words("nonzero argwhere unique unique_consecutive bincount masked_select")
#: Functions and methods whose result has such a number of rows where their operand has one.
KEEP_ROWS = words("flatten squeeze view reshape ravel sort unbind")

#: Methods that give the dense tensors that a sparse one is made of.
PARTS_OF_SPARSE = words("indices _indices values _values crow_indices col_indices ccol_indices row_indices")

#: Functions whose arguments are the sizes of what they make, and those whose first argument is.
SIZED = words("rand randn zeros ones empty")
SIZED_BY_FIRST = frozenset({"full"})
#: Functions that make a 1-d tensor.
ONE_DIMENSIONAL = words("arange linspace logspace randperm hann_window hamming_window ravel")

#: Functions that make a causal mask: a static method of ``nn.Transformer``, and the function that it calls.
CAUSAL_MASKS = frozenset(
    {
        "torch.nn.Transformer.generate_square_subsequent_mask",
        "torch.nn.modules.transformer._generate_square_subsequent_mask",
    }
)

#: By layer of torch: each mask that it compares with the causal one, its place among the arguments, and the argument
#: that says whether it is causal (torch/nn/modules/transformer.py).
COMPARED_MASKS = {
    "TransformerEncoder": (("mask", 1, "is_causal"),),
    "TransformerDecoder": (("tgt_mask", 2, "tgt_is_causal"),),
    "Transformer": (("src_mask", 2, "src_is_causal"), ("tgt_mask", 3, "tgt_is_causal")),
}

#: By layer of torch: the layers that it makes for itself (torch/nn/modules/transformer.py).
_LAYERS_OF = {
    "Transformer": {"encoder": "TransformerEncoder", "decoder": "TransformerDecoder"},
    "TransformerEncoderLayer": {"self_attn": "MultiheadAttention"},
    "TransformerDecoderLayer": {"self_attn": "MultiheadAttention", "multihead_attn": "MultiheadAttention"},
}

#: Attributes of layers of torch that are arguments of their constructors.
LAYER_SETTINGS = words("in_features out_features num_embeddings embedding_dim kernel_size stride eps p num_heads")

#: With an explicit dim these give (values, indices).
PAIR_WITH_DIM = frozenset({"max", "min", "median", "nanmedian"})

#: ``torch.<name>`` that do not give a tensor, by the kind of what they give.
TORCH_PYTHON = {
    "is_floating_point": "bool", "is_complex": "bool", "is_grad_enabled": "bool", "is_inference_mode_enabled": "bool",
    "is_autocast_enabled": "bool", "get_autocast_gpu_dtype": "dtype", "get_autocast_dtype": "dtype", "numel": "int",
    "get_default_dtype": "dtype", "finfo": "object", "iinfo": "object", "device": "device", "Size": "size",
    "result_type": "dtype", "promote_types": "dtype", "can_cast": "bool", "broadcast_shapes": "size",
    "Generator": "object", "typename": "str", "is_storage": "bool", "equal": "bool", "allclose": "bool",
    "is_nonzero": "bool", "no_grad": "object", "enable_grad": "object", "inference_mode": "object",
    "set_grad_enabled": "object", "autocast": "object", "manual_seed": "object", "seed": "int", "initial_seed": "int",
    "get_num_threads": "int", "is_vulkan_available": "bool", "set_num_threads": "object", "set_default_dtype": "object",
    "are_deterministic_algorithms_enabled": "bool",
    "use_deterministic_algorithms": "object", "set_default_device": "object", "get_default_device": "device",
    "compile": "object", "load": "object", "save": "object", "_assert": "object", "_assert_async": "object",
    "_check": "object", "_check_is_size": "object", "_check_value": "object", "_check_index": "object",
    "_check_tensor_all": "object", "_check_type": "object", "set_printoptions": "object", "sym_int": "int",
    "sym_float": "float", "sym_max": "int", "sym_min": "int", "sym_not": "bool", "sym_sqrt": "float",
    "is_deterministic_algorithms_warn_only_enabled": "bool", "get_float32_matmul_precision": "str",
    "set_float32_matmul_precision": "object", "is_autocast_cache_enabled": "bool", "clear_autocast_cache": "object",
    "is_autocast_cpu_enabled": "bool", "is_distributed": "bool", "get_device_module": "object", "vmap": "object",
}  # fmt: skip

#: Sub-packages of torch whose functions give tensors; those of any other sub-package give Python objects.
TENSOR_NAMESPACES = (
    "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.sparse", "torch.ops", "torch.masked",
    "torch._C._nn", "torch.nested", "torch.nn.utils.rnn.pad_sequence", "torch.signal",
    "torch.nn.attention.flex_attention.flex_attention",
)  # fmt: skip

#: ``torch.<name>`` that are False unless the program asks torch for them.
OFF_BY_DEFAULT = frozenset({
    "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled", "is_anomaly_enabled",
})  # fmt: skip

#: Flags that have one value while Dynamo traces.
COMPILE_TIME = {
    "torch.compiler.is_compiling": True, "torch.compiler.is_dynamo_compiling": True, "torch._dynamo.is_compiling": True,
    "torch._dynamo.external_utils.is_compiling": True, "torch._utils.is_compiling": True,
    "torch.compiler.is_exporting": False, "torch.jit.is_scripting": False, "torch.jit.is_tracing": False,
    "torch.onnx.is_in_onnx_export": False, "torch._C._get_tracing_state": None, "torch._C._is_tracing": False,
    "torchvision._is_tracing": None, "torchvision.extension._is_tracing": None,
    "torch._C._are_functorch_transforms_active": False, "torch._C._functorch.is_batchedtensor": False,
    "typing.TYPE_CHECKING": False,
    "transformers.utils.is_torchdynamo_compiling": True,
    "transformers.utils.import_utils.is_torchdynamo_compiling": True,
    "transformers.utils.import_utils.is_tracing": True, "transformers.utils.is_tracing": True,
    "transformers.utils.is_jit_tracing": False, "transformers.utils.is_torch_fx_proxy": False,
}  # fmt: skip
#: What packages call their own function that asks torch whether code is being compiled.
ASKS_FOR_COMPILE = frozenset(("is_compiling", "is_dynamo_compiling", "is_torchdynamo_compiling"))


#: Functions and methods whose arguments must be Python numbers: positions after the tensor ("*": from there on), names.
#: A tensor there is read on the host (GB0124, GB0033).
NUMBER_ARGS: dict[str, tuple[tuple[int | str, ...], tuple[str, ...]]] = {
    "view": ((0, "*"), ("size",)), "reshape": ((0, "*"), ("shape",)), "expand": ((0, "*"), ("size",)),
    "repeat": ((0, "*"), ("repeats",)), "tile": ((0, "*"), ("dims",)), "permute": ((0, "*"), ("dims",)),
    "transpose": ((0, 1), ("dim0", "dim1")), "new_zeros": ((0, "*"), ("size",)),
    "new_ones": ((0, "*"), ("size",)), "new_empty": ((0, "*"), ("size",)), "new_full": ((0, 1), ("size",
    "fill_value")), "full_like": ((0,), ("fill_value",)),
    "narrow": ((1, 2), ("start", "length")), "split": ((0,), ("split_size", "split_size_or_sections")),
    "split_with_sizes": ((0,), ("split_sizes",)), "chunk": ((0,), ("chunks",)), "topk": ((0,), ("k",)),
    "kthvalue": ((0,), ("k",)), "tril": ((0,), ("diagonal",)), "triu": ((0,), ("diagonal",)),
    "roll": ((0,), ("shifts",)), "unflatten": ((1,), ("sizes",)), "tensor_split": ((0,), ("indices_or_sections",)),
    "diagonal": ((0,), ("offset",)), "add": ((), ("alpha",)), "sub": ((), ("alpha",)), "resize_": ((0, "*"), ()),
    "unfold": ((1, 2), ("size", "step")), "uniform_": ((0, 1), ("from", "to")), "normal_": ((0, 1), ("mean", "std")),
    "addcmul": ((), ("value",)), "addcdiv": ((), ("value",)), "bernoulli": ((0,), ("p",)),
    "clamp": ((), ("min", "max")), "clip": ((), ("min", "max")), "exponential_": ((0,), ("lambd",)),
    "addmm": ((), ("alpha", "beta")), "baddbmm": ((), ("alpha", "beta")),
    "addmv": ((), ("alpha", "beta")), "addr": ((), ("alpha", "beta")), "addbmm": ((), ("alpha", "beta")),
    "rsub": ((), ("alpha",)), "diag": ((0,), ("diagonal",)), "diag_embed": ((0, 1, 2), ("offset", "dim1", "dim2")),
    "rot90": ((0,), ("k",)), "movedim": ((0, 1), ("source", "destination")), "histc": ((0, 1, 2), ("bins", "min",
    "max")), "nan_to_num": ((0, 1, 2), ("nan", "posinf", "neginf")), "renorm": ((0, 1, 2), ("p", "dim", "maxnorm")),
    "geometric_": ((0,), ("p",)), "cauchy_": ((0, 1), ("median", "sigma")), "log_normal_": ((0, 1), ("mean", "std")),
    "as_strided": ((0, 1, 2), ("size", "stride", "storage_offset")), "select": ((1,), ("index",)),
    "sub_": ((), ("alpha",)), "index_add": ((), ("alpha",)), "index_add_": ((), ("alpha",)),
    "norm": ((0,), ("p",)), "vector_norm": ((0,), ("ord",)), "dist": ((1,), ("p",)), "cdist": ((1,), ("p",)),
    "renorm_": ((0, 1, 2), ("p", "dim", "maxnorm")),
    "isclose": ((1, 2), ("rtol", "atol")),
    "logit": ((0,), ("eps",)), "multinomial": ((0,), ("num_samples",)),
    "fill_diagonal_": ((0,), ("fill_value",)),
    "std": ((0,), ("correction", "dim")), "var": ((0,), ("correction", "dim")), "std_mean": ((), ("correction",)),
    "var_mean": ((), ("correction",)),
    # Dimensions. A second argument of ``max`` and ``min`` may be a tensor to compare with.
    **dict.fromkeys(words(
        "sum mean prod any all amax amin argmax argmin argsort cumsum cumprod logcumsumexp logsumexp softmax"
        " log_softmax median nansum nanmean count_nonzero flip unsqueeze squeeze"), ((0,), ("dim", "dims", "axis"))),
}  # fmt: skip

#: The same for functions, where position 0 is the first argument.
NUMBER_ARGS_FUNCTIONS: dict[str, tuple[tuple[int | str, ...], tuple[str, ...]]] = {
    "zeros": ((0, "*"), ("size",)), "ones": ((0, "*"), ("size",)), "empty": ((0, "*"), ("size",)),
    "rand": ((0, "*"), ("size",)), "randn": ((0, "*"), ("size",)), "full": ((0,), ("size",)),
    "arange": ((0, 1, 2), ("start", "end", "step")), "eye": ((0, 1), ("n", "m")), "randint": ((0, 1, 2), ("low",
    "high", "size")),
    "randperm": ((0,), ("n",)), "tril_indices": ((0, 1, 2), ("row", "col", "offset")),
    "triu_indices": ((0, 1, 2), ("row", "col", "offset")), "hann_window": ((0,), ()), "hamming_window": ((0,), ()),
    "nn.functional.pad": ((1, 3), ("pad", "value")), "nn.functional.interpolate": ((1, 2), ("size", "scale_factor")),
    "nn.functional.dropout": ((1,), ("p",)), "nn.functional.one_hot": ((1,), ("num_classes",)),
    "nn.functional.adaptive_avg_pool1d": ((1,), ("output_size",)),
    "nn.functional.adaptive_avg_pool2d": ((1,), ("output_size",)),
    "nn.functional.leaky_relu": ((1,), ("negative_slope",)), "nn.functional.elu": ((1,), ("alpha",)),
    "nn.functional.celu": ((1,), ("alpha",)), "nn.functional.hardtanh": ((1, 2), ("min_val", "max_val")),
    "nn.functional.threshold": ((1, 2), ("threshold", "value")),
    "nn.functional.softplus": ((1, 2), ("beta", "threshold")), "nn.functional.layer_norm": ((4,), ("eps",)),
    "nn.functional.group_norm": ((1, 4), ("num_groups", "eps")),
    "nn.functional.batch_norm": ((6, 7), ("momentum", "eps")),
    "nn.functional.softshrink": ((1,), ("lambd",)), "nn.functional.hardshrink": ((1,), ("lambd",)),
    "nn.functional.huber_loss": ((), ("delta",)), "nn.functional.smooth_l1_loss": ((), ("beta",)),
    "nn.functional.instance_norm": ((6, 7), ("momentum", "eps")), "nn.functional.rms_norm": ((3,), ("eps",)),
    "nn.functional.local_response_norm": ((1, 2, 3, 4), ("size", "alpha", "beta", "k")),
    "nn.functional.margin_ranking_loss": ((3,), ("margin",)), "nn.functional.hinge_embedding_loss": ((2,), ("margin",)),
    "nn.functional.cosine_embedding_loss": ((3,), ("margin",)), "nn.functional.poisson_nll_loss": ((), ("eps",)),
    "nn.functional.triplet_margin_loss": ((3, 4), ("margin", "p")), "nn.functional.multi_margin_loss": ((2, 3), ("p",
    "margin")), "nn.functional.cross_entropy": ((), ("label_smoothing",)), "nn.functional.normalize": ((1,), ("p",)),
    "nn.functional.pairwise_distance": ((2, 3), ("p", "eps")), "nn.functional.cosine_similarity": ((3,), ("eps",)),
    "nn.functional.scaled_dot_product_attention": ((4,), ("dropout_p", "scale")),
    "nn.functional.pixel_shuffle": ((1,), ("upscale_factor",)),
    **{f"nn.functional.{kind}": ((1,), ("p",)) for kind in (
        "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d",
    )},
    # Dynamo computes this one without the operator where its value is a tensor.
    "addcdiv": ((), ()),
    "trapezoid": ((), ("dx",)), "cumulative_trapezoid": ((), ("dx",)),
    **{f"fft.{kind}": ((1,), ("n",)) for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{kind}": ((0, 1), ("n", "d")) for kind in ("fftfreq", "rfftfreq")}, "vander": ((1,), ("N",)),
    "stft": ((1, 2, 3), ("n_fft", "hop_length", "win_length")),
    "istft": ((1, 2, 3), ("n_fft", "hop_length", "win_length")),
    "blackman_window": ((0,), ("window_length",)), "bartlett_window": ((0,), ("window_length",)),
    "kaiser_window": ((0, 2), ("window_length", "beta")),
    "linspace": ((2,), ("steps",)), "logspace": ((2,), ("steps",)),
    **{
        f"nn.functional.conv{n}d": ((3, 4, 5, 6), ("stride", "padding", "dilation", "groups")) for n in (1, 2, 3)
    },
    **{
        f"nn.functional.conv_transpose{n}d": (
            (3, 4, 5, 6, 7), ("stride", "padding", "output_padding", "groups", "dilation"),
        ) for n in (1, 2, 3)
    },
    **{
        f"nn.functional.{kind}_pool{n}d": ((1, 2, 3), ("kernel_size", "stride", "padding"))
        for kind in ("avg", "max") for n in (1, 2, 3)
    },
}  # fmt: skip

#: Modules whose call gives a tuple whose first element is a tensor.
TUPLE_MODULES = frozenset({"LSTM", "GRU", "RNN", "LSTMCell", "MultiheadAttention", "AdaptiveLogSoftmaxWithLoss"})

#: Functions that mark a size of a tensor as varying.
MARKS_DYNAMIC = frozenset((
    "torch._dynamo.mark_dynamic", "torch._dynamo.maybe_mark_dynamic", "torch._dynamo.mark_unbacked",
    "torch._dynamo.decorators.mark_dynamic", "torch._dynamo.decorators.mark_unbacked",
))  # fmt: skip

#: Bases whose forward calls ``update`` and ``compute``.
METRICS = ("torchmetrics.Metric", "torchmetrics.metric.Metric")

#: The modules whose trainer compiles the steps below with the forward, where the module was compiled.
STEPPED = tuple(f"{package}.LightningModule" for package in ("lightning", "lightning.pytorch", "pytorch_lightning"))
STEPS = ("training_step", "validation_step", "test_step", "predict_step")

#: The base of modules in TorchScript.
SCRIPT_MODULE = "torch.jit.ScriptModule"

#: Bases whose step users compile.
OPTIMIZERS = ("torch.optim.Optimizer", "torch.optim.optimizer.Optimizer")

#: Bases whose fields are set like those of a dataclass, after validation by code that is not Python.
PYDANTIC_MODELS = ("pydantic.BaseModel", "pydantic.main.BaseModel")

#: Bases outside the scanned code whose subclasses are modules.
MODULE_BASE_NAMES = ("Module", "PreTrainedModel", "ModelMixin", "LightningModule", "GradientCheckpointingLayer")


@cache
def is_torch_module(qualname: str) -> bool:
    """True for a class of torch that is an nn.Module, by where it lives and how it is spelled."""
    if not qualname.startswith("torch.nn."):
        return False
    rest = qualname.removeprefix("torch.nn.").removeprefix("modules.")
    head, _, name = rest.rpartition(".")
    return bool(name) and name[0].isupper() and head.split(".")[0] in ("", "modules", "activation", "rnn", "linear",
    "conv") and name not in (
        "Parameter", "ParameterList", "ParameterDict", "Buffer", "UninitializedParameter",
    )  # fmt: skip


def dtype_of(name: str) -> str | None:
    """The dtype family of a torch dtype by name: ``int64`` -> "int"."""
    if name == "bool":
        return "bool"
    if name.startswith(("int", "uint", "long", "short")):
        return "int"
    if name.startswith(("float", "bfloat", "double", "half")):
        return "float"
    return "complex" if name.startswith(("complex", "cfloat", "cdouble")) else None


#: Objects of numpy that are no types, and whose items are arrays or indexes.
NUMPY_INDEXED = frozenset(f"numpy.{name}" for name in ("ogrid", "mgrid", "r_", "c_", "s_", "index_exp"))

#: Packages of which every function tried ends the graph on torch 2.13: those that Dynamo skips (``THIRDPARTY_SKIPLIST``
#: in torch/_dynamo/trace_rules.py), and some that rest on C code.
HOST_PACKAGES = words(
    """
    cupy networkx onnx onnxruntime pandas pynvml sklearn sympy tabulate tensorflow xarray
    cv2 librosa matplotlib nltk PIL pywt scipy skimage sentencepiece tiktoken tokenizers
    """
)

#: Packages for pictures, sound files and the network: code around a model uses them.
AROUND_MODELS = words("cv2 imageio imageio_ffmpeg matplotlib nibabel PIL requests skimage.io soundfile tifffile urllib")


@cache
def is_tokenizer(qualname: str) -> bool:
    """Whether a dotted name is one of a tokenizer of transformers: ``transformers.AutoTokenizer.from_pretrained``."""
    package, *names = qualname.split(".")
    return package == "transformers" and any(name.endswith(("Tokenizer", "TokenizerFast")) for name in names)


#: Where experiments are logged: to a file, a server or a queue.
TRACKERS = words("wandb mlflow tensorboardX torch.utils.tensorboard")

#: The methods of the operators, by their names in libcst.
DUNDERS = {
    "Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "truediv", "FloorDivide": "floordiv",
    "Modulo": "mod", "Power": "pow", "MatrixMultiply": "matmul", "BitAnd": "and", "BitOr": "or", "BitXor": "xor",
}  # fmt: skip

#: Recurrent layers, which Dynamo does not trace.
RECURRENT = frozenset({"LSTM", "GRU", "RNN"})

#: Tensors that layers have.
TENSORS_OF_LAYERS = words("weight bias running_mean running_var in_proj_weight in_proj_bias")

#: Parts of the names of layers that have a weight.
_WEIGHTED = ("Linear", "Conv", "Embedding", "Norm", "PReLU", "MultiheadAttention")


@cache
def is_weighted_layer(qualname: str) -> bool:
    """Whether a class is a layer of torch with a weight, which its subclasses inherit."""
    return is_torch_module(qualname) and any(part in qualname.rpartition(".")[2] for part in _WEIGHTED)


#: Functions of `torch.nn.utils` that change a layer and give it back.
GIVE_LAYER_BACK = words(
    "weight_norm spectral_norm orthogonal remove_weight_norm remove_spectral_norm register_parametrization "
    "remove_parametrizations fuse_conv_bn_eval fuse_linear_bn_eval convert_conv2d_weight_memory_format "
    "identity random_unstructured l1_unstructured random_structured ln_structured custom_from_mask remove"
)

#: A class of `torch.nn` by a name that is not known: ``getattr(nn, kind)``.
ANY_LAYER = "torch.nn.?"

#: Arguments that only recurrent layers take, of all that are chosen by a name.
OF_RECURRENT = frozenset({"bidirectional", "batch_first", "num_layers", "proj_size"})


@cache
def layer_of(qualname: str, name: str) -> str | None:
    """The class of the layer ``name`` that torch's layer ``qualname`` makes for itself; None where it makes none."""
    made = _LAYERS_OF.get(qualname.rpartition(".")[2], {}).get(name) if is_torch_module(qualname) else None
    return None if made is None else f"torch.nn.{made}"


def is_recurrent_layer(name: str) -> bool:
    """Whether a dotted name is one of ``RECURRENT`` or of its methods: ``torch.nn.LSTM.forward``."""
    return name.startswith("torch.nn.") and not RECURRENT.isdisjoint(name.split("."))


#: The names of what extension modules define, in C, CUDA or Cython, and of what numba compiles, begin with it.
EXTENSION = "<extension>."


def within(qualname: str, names: Collection[str]) -> bool:
    """True when ``qualname`` or one of the packages it lies in is among ``names``."""
    return any(map(names.__contains__, _around(qualname)))


@cache
def _around(qualname: str) -> tuple[str, ...]:
    """``qualname`` and the packages it lies in."""
    return tuple(accumulate(qualname.split("."), "{}.{}".format))


#: What names the parameters of a function of torch, `torch.meshgrid.__kwdefaults__`. Dynamo puts these functions in the
#: graph, and does not look inside; those that load and save it traces.
PARAMETERS = re.compile(
    r"torch\.(?!load\.|save\.)(?:nn\.functional\.)?[a-z]\w*\.__(?:kwdefaults__|annotations__|code__\.co_varnames)"
)

#: The name by which rules know the question for one: `"indexing" in torch.meshgrid.__kwdefaults__`.
ASKED_FOR_PARAMETERS = "torch.functional.parameters.__contains__"
