"""`vivant study`, as `vivant --help` lists it."""

from vivant.hooks import Command

STUDY = Command(
    "vivant_study.cli.study:app", "Ask people: baselines, blind tests, ratings, in the browser.", "People"
)
