"""What ``graphdoctor run`` puts into the user's process: it records what torch.compile does, and nothing else changes.

Only the standard library and torch are imported here, whatever else of graphdoctor the process could import.
"""
