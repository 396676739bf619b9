"""`vivant build`, as `vivant --help` lists it."""

from vivant.hooks import Command

BUILD = Command(
    "vivant_build.cli.build:app", "Make benchmarks: mimed actions, users' videos, fresh needles.", "Make"
)
