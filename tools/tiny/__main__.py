"""Make vivant/tiny, the model that comes with the package, from nothing. Run it again to go on.

    python tools/tiny WORK [--steps N]

It draws its training data, trains on the processor and writes ONNX graphs: about an hour on one core. Then:

    vivant run mimic/thinking --data mini --model onnx/WORK/tiny --frames 8
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tiny.pipeline import EXPORTED, make_tiny


def main() -> None:
    """Parse the command line and make the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="folder for the training data, the training and the model")
    parser.add_argument("--steps", type=int, help="fewer than the recipe's, for a try")
    arguments = parser.parse_args()
    settings = make_tiny(arguments.work, steps=arguments.steps)
    if settings is None:
        print(f"Stopped; go on: python tools/tiny {arguments.work}")
        return
    print(
        f"{settings.parameters / 1e6:.2f} M parameters. Use it: --model onnx/{arguments.work / EXPORTED} --frames 8"
    )


if __name__ == "__main__":
    main()
