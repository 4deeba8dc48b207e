"""How fast the package is, against the limit that gradients set and against other packages:
`python -m experiments.bench`, then `python -m experiments.bench.page`.
"""
