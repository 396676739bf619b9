"""What is learnt from: any folder that a benchmark reads, phrased by that benchmark."""
