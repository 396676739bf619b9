"""The viewer: a local web page over all runs. `vivant view` serves it; the extra `web` brings its server."""
