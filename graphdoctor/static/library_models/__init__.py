"""What calls into torch, numpy, Python and other libraries give back.

May import ``syntax``, ``static.domain`` and ``static.interp``.
"""
