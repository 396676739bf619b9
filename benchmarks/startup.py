"""How soon `vivant --help` answers: CPU time as a multiple of importing Typer and Rich alone.

Peer: python -c "import typer, rich". Limit: 1.5. The two take turns, so that a noisy machine disturbs both alike.

    python benchmarks/startup.py [rounds]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

LIMIT = 1.5
PEER = [sys.executable, "-c", "import typer, rich"]
OURS = [
    sys.executable,
    "-c",
    "import sys; sys.argv[1:] = ['--help']; from vivant.cli.main import main; main()",
]


def cpu(command: list[str]) -> float:
    """User and system seconds of a command."""
    before = os.times()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Medians of alternating rounds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    cpu(PEER), cpu(OURS)
    pairs = [(cpu(PEER), cpu(OURS)) for _ in range(rounds)]
    peer = statistics.median(p for p, _ in pairs)
    ours = statistics.median(o for _, o in pairs)
    ratio = ours / peer
    print(
        f"peer, importing typer and rich: {peer * 1000:.0f} ms CPU; vivant --help: {ours * 1000:.0f} ms CPU"
    )
    print(f"ratio {ratio:.2f} (limit {LIMIT}) {'ok' if ratio <= LIMIT else 'MISSED'}")


if __name__ == "__main__":
    main()
