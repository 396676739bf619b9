"""Image models, for language models that only write text: they draw what a text describes."""
