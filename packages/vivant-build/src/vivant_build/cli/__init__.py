"""The commands below `vivant build`."""
