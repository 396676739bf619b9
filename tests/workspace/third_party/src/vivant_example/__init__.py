"""One example of each hook; docs/hooks.md shows these files."""
