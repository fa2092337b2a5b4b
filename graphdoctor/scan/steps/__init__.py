"""The steps of a scan, one module each. A part of the plan and the results of earlier steps go in, a result comes out.

May import every package below it, and the rest of ``scan`` but ``pipeline``.
"""
