"""The model: settings, the two branches, what joins them, and the whole."""
