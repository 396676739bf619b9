"""How the bundled mini-editions are drawn. Not part of the package: run with `PYTHONPATH=tools`."""
