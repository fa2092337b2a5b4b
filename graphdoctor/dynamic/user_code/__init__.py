"""The user's file and sample: loaded, called, and their errors put into one line.

May import torch, ``model``, ``breaks``, ``source``, ``recorder`` and ``dynamic.parent``.
"""
