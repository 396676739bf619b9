"""From user videos' metadata to a benchmark like MIMIC-Bench: one module a step, one folder a step.

docs/mimic-data.md describes ingest, clean and the invented world; docs/mimic-pipeline.md everything after.
"""
