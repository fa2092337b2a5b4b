"""The abstract interpreter: what Dynamo will meet when it traces a file. The file is never executed.

May import ``breaks``, ``model``, ``source``, ``syntax`` and ``target_torch``.
"""
