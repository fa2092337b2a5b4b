"""What a reader of many findings needs first: which models break, and which findings say the same.

May import ``model`` and the modules of ``report`` itself.
"""
