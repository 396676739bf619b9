"""Human studies: what is asked of whom, the server that asks, and what came of it. docs/studies.md tells how."""
