"""What functions of torch and numpy, and methods of tensors, give: the dtype, the dimensions and the sizes.

May import ``static.domain``.
"""
