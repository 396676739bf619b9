"""The server that asks participants. It never opens a study's key."""
