"""Guards that failed, as Dynamo names them, and which of them made it compile again.

May import ``breaks``; torch is never imported.
"""
