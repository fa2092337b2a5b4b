"""One scan: options and settings become a plan (``plan.py``), whose steps (``steps``) ``pipeline.py`` makes in order.

May import every package below it.
"""
