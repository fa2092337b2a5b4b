"""The report as one HTML file.

May import ``report``, ``diagnosis``, ``bench`` and ``model``.
"""
