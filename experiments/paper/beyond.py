"""What the dense metric and the criterion of the slowest function give, beside SNAPER."""

from . import plan
from .markdown import DASH, number, ratio, table
from .percentiles import percentile
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
total gradients to a classic R-hat below its threshold (90th percentiles), beside the SNAPER of the
paper.

{_efficiency(results)}

{_gradients(results)}"""


def _efficiency(results: Results) -> str:
    rows = []
    for problem, name in PROBLEMS.items():
        printed = PRINTED["efficiency"][problem]["snaper"]
        found = results.long(problem, BEYOND.name)
        ours = [DASH] * 5
        if found is not None:
            spread = [float(percentile(found.efficiency(), q)) for q in SPREAD]
            ours = [*map(number, spread), str(found.seeds), ratio(spread[0], printed)]
        rows.append([name, *ours[:4], number(printed), ours[4]])
    heads = ["", "10th", "median", "90th", "seeds", "printed SNAPER", "ours/printed"]
    return table(heads, rows, words=1)


def _gradients(results: Results) -> str:
    rows = []
    for problem, name in PROBLEMS.items():
        row = [name]
        for warmup in plan.SHORT_WARMUPS:
            found = results.short(problem, BEYOND.name, warmup)
            printed = PRINTED["gradients"][problem]["snaper"].get(str(warmup))
            total = None if found is None else float(percentile(found.total("classic"), 90))
            row += [
                DASH if total is None else number(total),
                number(printed, 2) if printed else DASH,
                DASH if found is None else str(found.seeds),
            ]
        rows.append(row)
    heads = [""]
    for warmup in plan.SHORT_WARMUPS:
        heads += [f"after {warmup}", "printed SNAPER", "seeds"]
    return table(heads, rows, words=1)
