"""Forty-eight drawn clips: what the invented platform of MIMIC's pipeline, and so MIMIC-mini, shows."""
