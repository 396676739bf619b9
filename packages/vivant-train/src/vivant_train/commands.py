"""`vivant train`, as `vivant --help` lists it."""

from vivant.hooks import Command

TRAIN = Command("vivant_train.cli.train:app", "Train MIMIC-Chat, a video language model of your own.", "Make")
