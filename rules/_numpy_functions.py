"""Functions of numpy that Dynamo cannot trace: it traces numpy by ``torch._numpy``, which does not have them."""

from __future__ import annotations

from graphdoctor.static.domain.torch_tables import words

_NAMES = words(
    """
    apply_along_axis apply_over_axes argpartition array2string array_repr array_str asanyarray asarray_chkfinite
    asfortranarray asmatrix astype base_repr binary_repr bitwise_count block bmat busday_count compress
    cumulative_prod cumulative_sum datetime_as_string delete digitize ediff1d einsum_path extract
    format_float_positional format_float_scientific frexp frombuffer fromfunction fromiter frompyfunc fromstring
    get_printoptions getbufsize geterr histogram_bin_edges insert interp intersect1d is_busday isdtype isfortran
    isin isnat iterable ix_ lexsort mask_indices matrix matrix_transpose matvec may_share_memory mintypecode
    nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile
    nanstd nansum nanvar nditer nested_iters packbits partition piecewise place poly poly1d polyadd polyder polydiv
    polyfit polyint polymul polysub polyval promote_types putmask ravel_multi_index recarray require roots select
    set_printoptions setbufsize setdiff1d seterr seterrcall setxor1d shares_memory sort_complex spacing timedelta64
    trapezoid trim_zeros typename union1d unique_all unique_counts unique_inverse unique_values unpackbits
    unravel_index unstack unwrap vecdot vecmat
    """
)
WITHOUT_TENSORS = frozenset(f"numpy.{name}" for name in _NAMES)

#: Functions that ``torch._numpy`` has, but that give a number, a flag or a type, which is no result of a graph.
GIVE_NO_TENSOR = frozenset(
    f"numpy.{name}"
    for name in words("can_cast common_type iscomplexobj isrealobj min_scalar_type ndim result_type size")
)

#: The methods of a function that works element by element, such as ``np.subtract``.
UFUNC_METHODS = frozenset({"accumulate", "at", "outer", "reduce", "reduceat"})

#: Functions that ``torch._numpy`` has only with the end of the range.
WITH_END = frozenset({"numpy.linspace", "numpy.logspace", "numpy.geomspace"})
