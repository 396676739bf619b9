"""Make torchvision importable beside a torch of another build, for tests.

Its Python half, which video processors use, works without its compiled operators. Importing it registers shapes for
those operators, which fails where they are not defined. A matching pair of torch and torchvision needs none of this.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

_OPERATORS = ("nms", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d")
_libraries: list[Any] = []


def import_torchvision() -> bool:
    """Import torchvision, with stand-ins for its operators where they are missing; False where it is not there."""
    if find_spec("torchvision") is None:
        return False
    try:
        import torchvision
    except (ImportError, RuntimeError):
        import sys

        import torch

        for name in [module for module in sys.modules if module.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        _libraries.append(library)  # they vanish with it
        for name in _OPERATORS:
            for variant in (name, f"_{name}_backward", f"q{name}"):
                library.define(f"{variant}(Tensor x) -> Tensor")
        import torchvision
    return bool(torchvision.__name__)
