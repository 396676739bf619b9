from vivant.hooks import Command

LONGEST = Command("vivant_example.longest:app", "Print the longest replies of a run.")
