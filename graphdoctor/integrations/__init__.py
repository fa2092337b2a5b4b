"""Callbacks for trainers of other packages, which must be installed.

May import ``in_process`` and the package of the trainer.
"""
