"""Benchmarks that come as descriptions: one YAML file each, read by `vivant.benchmarks.declarative`."""
