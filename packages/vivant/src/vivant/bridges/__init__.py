"""Other harnesses: their tasks on our engine, their logs as runs, our runs as their logs, our backends as their models.

Each bridge imports the other package when it is used, never before. What can be read or written without it, is.
"""
