"""The temporal branch's memory against the number of frames: a curve, and whether it is a straight line.

Peak resident memory of one forward pass over a video, each length in a process of its own, above that of the
shortest; with gradients (training) and without (use). Limit: from one doubling of the frames to the next, the
growth is at most 2.4 times (linear: 2, quadratic: 4); without gradients memory hardly grows at all.

    python benchmarks/train_temporal.py [longest]
"""

from __future__ import annotations

import resource
import subprocess
import sys
from itertools import pairwise

LIMIT = 2.4
SHORTEST = 64


def measure(frames: int, learning: bool) -> float:
    """Megabytes at the peak of one pass."""
    import torch

    from vivant_train.model.config import TemporalSettings, VisionSettings
    from vivant_train.model.temporal import TemporalBranch
    from vivant_train.model.vision_encoder import VisionEncoder

    torch.set_num_threads(1)
    vision = VisionSettings(
        config={"model_type": "conv", "widths": [48, 64, 96]}, image_size=64, frozen=False
    )
    eyes = VisionEncoder(vision, pretrained=False)
    branch = TemporalBranch(TemporalSettings(init="fresh", depth=2), eyes, 64)
    pixels = torch.zeros(1, frames, 3, 64, 64)
    if learning:
        branch(eyes, pixels).sum().backward()
    else:
        with torch.inference_mode():
            branch(eyes, pixels)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the curve; exit with 1 where it bends upwards."""
    if len(sys.argv) > 2:
        print(measure(int(sys.argv[1]), sys.argv[2] == "learning"))
        return
    longest = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    lengths = [SHORTEST]
    while lengths[-1] < longest:
        lengths.append(lengths[-1] * 2)
    peaks = {
        way: [
            float(subprocess.check_output([sys.executable, __file__, str(frames), way], text=True))
            for frames in lengths
        ]
        for way in ("learning", "using")
    }
    print("frames   learning      using   (MB at the peak)")
    for place, frames in enumerate(lengths):
        print(f"{frames:6d} {peaks['learning'][place]:10.0f} {peaks['using'][place]:10.0f}")
    growth = [later - earlier for earlier, later in pairwise(peaks["learning"])]
    bends = [later / max(1.0, earlier) for earlier, later in pairwise(growth[1:])]
    print(f"growth from doubling to doubling: {', '.join(f'{bend:.2f}' for bend in bends)} (limit {LIMIT})")
    sys.exit(0 if all(bend <= LIMIT for bend in bends) else 1)


if __name__ == "__main__":
    main()
