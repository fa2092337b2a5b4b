"""What a file shows of how it is compiled."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphdoctor.static.domain.program import ClassInfo


@dataclass(eq=False)
class RegionFacts:
    """What the scanned file shows of its regions; filled in while they are looked for."""

    #: Whether the file declares a sample: the object that is called is new then.
    has_sample: bool = False
    #: Whether something in the file is compiled for sizes that vary.
    has_dynamic_sizes: bool = False
    #: Whether the regions are forward passes of which nothing shows that they are compiled.
    assumed: bool = False
    #: Whether a function is being interpreted that nothing in the file calls.
    uncalled: bool = False
    #: The modules whose constructor or methods compile parts of them: their own ``forward`` is code around these.
    around: list[ClassInfo] = field(default_factory=list)
