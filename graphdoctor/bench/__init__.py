"""What each way of compiling costs and gains, measured: time, compile time, memory and numerics against eager.

May import ``dynamic``, ``breaks`` and ``model``.
"""
