"""The leaderboard: submissions, their check by re-scoring, and the static site over them."""
