"""`python -m vivant.train …` is `vivant train …`: what launchers of several processes can start."""

from __future__ import annotations

import sys

from vivant.cli.main import main

sys.argv = [sys.argv[0], "train", *sys.argv[1:]]
main()
