"""Rewrites of one call or statement on tensors that has another form: old spellings, copies, devices, storage, sorting.

May import ``model``, ``syntax``, ``static``, ``fixes.core``, ``fixes.analysis`` and ``fixes.proof``.
"""
