"""What models reason about: chains of thought cut into segments, each labelled with what it rests on; and
wrong answers labelled by kind.

`segments.py` cuts, `kinds.py` and `scheme.py` say which labels there are, `judge.py` has them given by a model,
`people.py` by people, `store.py` keeps them with the run, `shares.py` counts.
"""
