"""graphdoctor: makes PyTorch code ready for ``torch.compile``.

Importing the package imports neither torch, nor libcst, nor click; ``graphdoctor.api`` is the Python entry point.
"""

__version__ = "0.1.0"
