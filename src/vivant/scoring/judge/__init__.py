"""Judges: a model, a rubric and settings; one mechanism for all answers that someone has to judge.

`rubric.py` says what is judged and on which scale, `contract.py` how a verdict is written and read,
`fence.py` keeps material apart from instructions, `judging.py` asks, `store.py` reads what was said,
`scores.py` turns it into scores, `pairs.py` compares two answers in both orders.
"""
