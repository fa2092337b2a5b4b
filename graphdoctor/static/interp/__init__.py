"""The interpreter: one module for each part of the language.

May import ``breaks``, ``source``, ``syntax``, ``static.domain``, ``static.memo`` and ``static.library_models``.
"""
