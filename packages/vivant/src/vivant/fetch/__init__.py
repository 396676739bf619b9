"""Bringing data and small models to this machine, when the user asks for it. A run never does."""
