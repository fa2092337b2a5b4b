"""Modules of torch and of scanned code: the layers, the methods that every module has, and hooks.

May import ``syntax``, ``static.domain``, ``static.interp`` and ``static.library_models``.
"""
