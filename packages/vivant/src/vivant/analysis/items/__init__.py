"""The items of a benchmark, seen through many runs: which are hard, which tell nothing, whose key may be wrong."""
