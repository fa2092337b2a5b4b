"""Regions: what will be compiled, and the arguments it is called with.

May import ``source``, ``syntax``, ``static.domain`` and ``static.interp``.
"""
