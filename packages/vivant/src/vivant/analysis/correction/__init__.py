"""Judges corrected by people: what people would have scored, where a judge scored everything and people a part."""
