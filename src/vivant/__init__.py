"""Vivant."""
