"""Checkpoints of others as parts of MIMIC-Chat: their files, formats, tokenizers and weights."""
