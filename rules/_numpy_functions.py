"""Functions of numpy that Dynamo cannot trace: it traces numpy by ``torch._numpy``, which does not have them."""

from __future__ import annotations

from graphdoctor.static.domain.torch_tables import words

_NAMES = words(
    """
    apply_along_axis apply_over_axes argpartition array2string array_repr array_str asanyarray asarray_chkfinite
    asfortranarray asmatrix astype base_repr binary_repr bitwise_count block bmat compress cumulative_prod
    cumulative_sum delete digitize ediff1d einsum_path extract frexp frombuffer fromfunction fromiter frompyfunc
    fromstring histogram_bin_edges insert interp intersect1d isdtype isfortran isin isnat iterable ix_ lexsort
    mask_indices matrix_transpose may_share_memory nanargmax nanargmin nancumprod nancumsum nanmax nanmean
    nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar packbits partition piecewise place
    poly polyadd polyder polydiv polyfit polyint polymul polysub polyval promote_types putmask ravel_multi_index
    require roots select set_printoptions setdiff1d seterr setxor1d shares_memory sort_complex spacing trapezoid
    trim_zeros union1d unpackbits unravel_index unwrap vecdot
    """
)
WITHOUT_TENSORS = frozenset(f"numpy.{name}" for name in _NAMES)
