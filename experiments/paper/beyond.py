"""What the dense metric and the criterion of the slowest function give, beside SNAPER."""

import numpy as np

from . import plan
from .markdown import DASH, between, number, ratio, share, table
from .percentiles import interval, percentile
from .problems import PROBLEMS
from .results import PRINTED, Results
from .settings import BEYOND
from .tables import SPREAD


def section(results: Results) -> str:
    """Nothing where nothing was measured."""
    if all(results.long(problem, BEYOND.name) is None for problem in PROBLEMS):
        return ""
    return f"""## Beyond the paper

The default of `snaper.sample`: the metric from points and gradients, dense where correlations pay,
and trajectories tuned for the function that mixes worst. Least ESS of squares per gradient, and
total gradients to a classic R-hat below its threshold, beside the SNAPER of the paper. Fingerprints
of the code are as above.

{_efficiency(results)}

{_gradients(results)}"""


def _efficiency(results: Results) -> str:
    rows = []
    for problem, name in PROBLEMS.items():
        printed = PRINTED["efficiency"][problem]["snaper"]
        found = results.long(problem, BEYOND.name)
        ours, rest = [DASH] * 5, [DASH] * 2
        if found is not None:
            values = found.efficiency()
            low, middle, high = (float(percentile(values, q)) for q in SPREAD)
            ends = between(interval(values, 10))
            ours = [number(low), ends, number(middle), number(high), str(found.seeds)]
            rest = [ratio(low, printed), found.code]
        rows.append([name, *ours, number(printed), *rest])
    heads = ["", "10th", "95 % interval", "median", "90th", "seeds", "printed SNAPER"]
    return table([*heads, "ours/printed", "code"], rows, words=1)


def _gradients(results: Results) -> str:
    rows = []
    for problem, name in PROBLEMS.items():
        for warmup in plan.SHORT_WARMUPS:
            found = results.short(problem, BEYOND.name, warmup)
            printed = PRINTED["gradients"][problem]["snaper"].get(str(warmup))
            ours = [DASH] * 5
            if found is not None:
                total = found.total("classic")
                reached = share(int(np.sum(np.isfinite(total))), found.seeds)
                high = number(float(percentile(total, 90)))
                middle = number(float(percentile(total, 50)))
                ours = [middle, high, between(interval(total, 90)), reached, found.code]
            printed = number(printed, 2) if printed else DASH
            rows.append([name, str(warmup), *ours[:4], printed, ours[4]])
            name = ""
    heads = ["", "warm-up", "median", "90th", "95 % interval", "reached", "printed SNAPER", "code"]
    return table(heads, rows, words=1)
