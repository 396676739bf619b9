"""Training data: any folder that a benchmark reads, phrased by that benchmark."""
