"""The commands below `vivant study`."""
