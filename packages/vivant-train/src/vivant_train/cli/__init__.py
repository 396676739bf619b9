"""The commands below `vivant train`."""
