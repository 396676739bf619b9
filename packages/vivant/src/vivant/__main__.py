"""`python -m vivant …` is `vivant …`: what launchers of several processes can start."""

from __future__ import annotations

from vivant.cli.main import main

main()
