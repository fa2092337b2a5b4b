"""The pictures of the report: pure layout of what the diagnosis holds; the templates draw it as inline SVG.

May import ``report``, ``bench``, ``diagnosis`` and ``model``.
"""
