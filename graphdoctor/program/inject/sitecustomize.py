"""Python imports this at its start, because ``graphdoctor run`` puts its folder on PYTHONPATH; the user's own follows.

A sitecustomize is the only way into a process that others start with ``python script.py``: the script, its
arguments, ``__main__`` and ``sys.path`` stay as they are without graphdoctor.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _start() -> None:
    """Start the recorder; sys.path is afterwards what it is without graphdoctor."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != folder]
    package = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    sys.path.insert(0, package)
    try:
        from graphdoctor.recorder.start import start

        start()
    except ImportError:
        # Another Python, or another environment: nothing is recorded there.
        pass
    finally:
        sys.path.remove(package)


def _chain() -> None:
    """Run the sitecustomize that the process would have had."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_start()
_chain()
