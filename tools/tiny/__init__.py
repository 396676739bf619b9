"""The model that comes with Vivant, `vivant/tiny`: its training data, its recipe, its card."""
