"""What ``bench`` and ``advise`` measured, worded for every format.

May import ``model``, ``bench`` and the modules of ``report`` itself.
"""
