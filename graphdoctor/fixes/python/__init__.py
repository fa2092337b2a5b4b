"""Rewrites of Python that Dynamo cannot trace: output, context managers, definitions, wrappers.

May import ``model``, ``syntax``, ``static``, ``fixes.core``, ``fixes.analysis``, ``fixes.proof``,
``fixes.branches`` and ``fixes.tensors``.
"""
