"""MIMIC-Chat: a video language model with a spatial and a temporal branch, its training and its checkpoints.

Everything here needs the extra `vivant[train]`; nothing of it is imported until it is asked for.
"""
