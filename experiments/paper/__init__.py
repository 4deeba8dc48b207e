"""The tables and figures of Sountsov & Hoffman (2021), measured anew.

    python -m experiments.paper            # all of it: an accelerator, tens of minutes
    python -m experiments.paper --quick    # the small targets, few seeds, two cores
    python -m experiments.paper.page       # the page and the figures from what was measured

A cell is one experiment on one problem with one setting. It is saved as JSON as soon as it is
finished, and is not measured again.
"""
