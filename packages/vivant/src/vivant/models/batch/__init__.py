"""Providers' batch endpoints: requests handed over as one file, answered within a day, at a lower price."""
