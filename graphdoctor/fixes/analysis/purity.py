"""Which calls compute a value and do nothing else. Names only: nothing is imported or run.

The tables list operators of torch 2.13 that have no side effect; what is not listed counts as unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.value_functions import is_tensor, options
from graphdoctor.static.domain.values import Class, Compiled, Function, Instance, Partial, TorchModule
from graphdoctor.syntax.walk import find


def words(text: str) -> frozenset[str]:
    """The words of ``text``: a table of names that stays readable."""
    return frozenset(text.split())


#: Operators that keep the shape of their (first) operand. Tensor methods and functions of torch share these names.
ELEMENTWISE = words("""
    abs acos add asin atan ceil clamp clamp_max clamp_min clip clone contiguous cos cosh cumprod cumsum deg2rad detach
    div elu erf erfc exp exp2 expm1 fix flip float_power floor frac gelu hardtanh leaky_relu lgamma log log10 log1p log2
    log_softmax logit masked_fill mish mul nan_to_num neg negative normalize positive pow reciprocal relu relu6 roll
    round rsqrt selu sgn sigmoid sign silu sin sinc sinh softmax softmin softplus softsign sqrt square sub tan tanh
    tanhshrink threshold tril triu true_divide trunc
""")
#: Those of them that compute each element from the one at the same place.
POINTWISE = ELEMENTWISE - words("""
    contiguous cumprod cumsum detach flip log_softmax masked_fill normalize roll softmax softmin tril triu
""")
#: Reductions: two of them with the same arguments on the same value give the same shape and dtype.
REDUCTIONS = words("amax amin mean nanmean")
#: Other operators without side effects, whatever the shape of their result.
OTHER = words("""
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d addcdiv addcmul addmm all
    aminmax any arange argmax argmin argsort as_tensor atan2 avg_pool1d avg_pool2d avg_pool3d baddbmm bfloat16
    binary_cross_entropy_with_logits bitwise_and bitwise_not bitwise_or bitwise_xor bmm bool broadcast_to bucketize
    cat cdist celu chunk column_stack concat conj conv1d conv2d conv3d cosine_embedding_loss cosine_similarity
    count_nonzero cpu cross cross_entropy cuda cummax cummin diag diagonal diff dim dot double dstack einsum
    element_size empty_like eq erfinv expand expand_as eye finfo flatten float fmax fmin fmod full full_like gather
    ge glu grid_sample group_norm gt half hardsigmoid hardswish hstack huber_loss hypot iinfo index_add index_copy
    index_fill index_select int interpolate is_complex is_contiguous is_floating_point isclose isfinite isin isinf
    isnan isneginf isposinf isreal kl_div kron l1_loss layer_norm le lerp linear linspace logaddexp logcumsumexp
    logical_and logical_not logical_or logical_xor logsigmoid logsumexp long lt margin_ranking_loss matmul max
    max_pool1d max_pool2d max_pool3d maximum median meshgrid min minimum mm movedim mse_loss multi_margin_loss mv
    nanmedian nansum narrow ne new_full new_ones new_tensor new_zeros nll_loss norm numel one_hot ones ones_like
    outer pad pairwise_distance permute prod quantile rad2deg ravel real remainder repeat reshape scalar_tensor
    scatter scatter_add scatter_reduce searchsorted select size smooth_l1_loss soft_margin_loss split squeeze stack
    std std_mean stride sum swapaxes t take take_along_dim tensor tensordot tile to topk trace transpose
    tril_indices triplet_margin_loss triu_indices type_as unbind unflatten unfold unsqueeze var var_mean vector_norm
    view view_as vstack where xlogy zeros zeros_like
""")
PURE = ELEMENTWISE | REDUCTIONS | OTHER
#: Those that lists have too, where they change the list.
ALSO_OF_LISTS = words("sort")
#: Functions that run other code, which these tables do not describe.
_CODE = (Class, Compiled, Function, Instance, Partial, TorchModule)

#: Operators whose result or gradient can be NaN or infinite for values that the condition was there to keep out.
HAZARDS = words("""
    acos asin atan2 cosh cosine_similarity cross_entropy cumprod div erfinv exp exp2 expm1 float_power fmod kl_div
    log log10 log1p log2 logaddexp logcumsumexp logit logsumexp norm normalize pow reciprocal remainder rsqrt sinh
    sqrt std std_mean tan true_divide var var_mean vector_norm xlogy
""")
#: Operators that draw random numbers: computing both sides changes what comes after.
RANDOM = words("bernoulli dropout multinomial normal rand rand_like randint randn randn_like randperm")

#: Functions and methods that compute a Python value and do nothing else.
PURE_BUILTINS = words("""
    abs bool dict enumerate float format getattr hasattr id int isinstance len list max min range repr round set sorted
    str sum tuple type zip
""")
PURE_PYTHON_METHODS = words("""
    allclose equal format get item items join keys lower masked_select nonzero numpy strip tolist unique upper values
""")


def called(call: cst.Call) -> str:
    """The last name of what is called: ``abs`` of ``x.abs()`` and of ``torch.abs(x)``; empty when there is none."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else ""


def calls(node: cst.CSTNode) -> Sequence[cst.Call]:
    """The calls in ``node``."""
    return find(node, cst.Call)


def root(node: cst.CSTNode) -> str:
    """The name an attribute chain begins with: ``self`` of ``self.layers[0].norm``."""
    while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node.value if isinstance(node, cst.Name) else ""


def is_own(node: cst.CSTNode) -> TypeGuard[cst.Attribute]:
    """True for ``self.x``."""
    return isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self"


def is_torch_function(call: cst.Call, editor: Editor) -> bool:
    """True for ``torch.abs(x)``, ``F.gelu(x)`` and names imported from torch; not for ``torch.rand(4).abs()``."""
    func: cst.BaseExpression = call.func
    while isinstance(func, cst.Attribute):
        func = func.value
    return isinstance(func, cst.Name) and (func.value == "torch" or func.value in editor.torch_names)


def is_pure(call: cst.Call, editor: Editor, python: bool = False) -> bool:
    """True when the call is known to compute a value only. ``python`` admits builtins that make Python values.

    ``self.mean(x)`` is no operator of torch where the interpreter knows what else it calls.
    """
    name = called(call)
    if any(isinstance(callee, _CODE) for callee in options(editor.value(call.func))):
        return False
    if name in ALSO_OF_LISTS:
        is_method = isinstance(call.func, cst.Attribute) and is_tensor(editor.value(call.func.value))
        return is_method or is_torch_function(call, editor)
    if isinstance(call.func, cst.Name):
        if is_torch_function(call, editor):
            return name in PURE
        if name == "float" and [type(a.value) for a in call.args] == [cst.SimpleString]:
            return True  # float("-inf")
        return name in (PURE_BUILTINS if python else {"len", "abs"})
    if not isinstance(call.func, cst.Attribute) or is_own(call.func):
        return False
    return name in PURE or (python and name in PURE_PYTHON_METHODS)
