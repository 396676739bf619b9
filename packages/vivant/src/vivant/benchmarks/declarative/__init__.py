"""Benchmarks described in YAML files: a user's own (`vivant run ./my.yaml`) and those of `benchmarks/suite/`.

`spec` says what a file may hold, `loader` makes samples of rows, `prompts` phrases them, `scorers` scores replies.
"""
