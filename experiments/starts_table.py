"""The table of `docs/results/starts.md`, from the JSON lines that `starts.py` wrote.

python experiments/starts_table.py docs/results/starts.jsonl > docs/results/starts.md
"""

import json
import sys
from pathlib import Path

import numpy as np

HEADING = """# Starts: dispersed, superchains, one point

How SNAPER adapts from each kind of start: `experiments/starts.py`, default preset, one NVIDIA H200.
Least ESS of squares per gradient and chain, median over seeds with the range, gradients of warm-up,
and the median of the worst R-hat and nested R-hat. `superchains-K` are K points with an equal share
of the chains each; `point` is the prior mean.

No kind of start adapts better beyond the spread over seeds, so the choice costs nothing, and the
default stays with dispersed chains, whose usual R-hat needs no declared groups. `superchains=16`
is the better choice for many short chains, where nested R-hat is near one and the usual one is not
yet; one point for all has the longest tail downwards where that point is far out (brownian-bridge).
"""


def table(rows: list[dict]) -> str:
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        groups.setdefault((row["target"], row["start"]), []).append(row)
    sizes = {(row["chains"], row["warmup"], row["draws"]) for row in rows}
    chains, warmup, draws = sizes.pop()
    assert not sizes, "the rows are of runs of different sizes"
    lines = [
        f"{chains} chains, {warmup} warm-up transitions, {draws} draws.",
        "",
        "| target | start | seeds | ESS/gradient | range | warm-up gradients | R-hat | nested |",
        "|---|---|---:|---:|---|---:|---:|---:|",
    ]
    for (target, start), found in groups.items():
        rate = np.array([row["min_ess_squares_per_gradient_and_chain"] for row in found])
        nested = [row["nested_rhat"] for row in found if row["nested_rhat"] is not None]
        lines.append(
            f"| {target} | {start} | {len(found)} | {np.median(rate):.3g} |"
            f" {rate.min():.3g} to {rate.max():.3g} |"
            f" {np.median([row['warmup_gradients'] for row in found]):.0f} |"
            f" {np.median([row['rhat'] for row in found]):.3f} |"
            f" {f'{np.median(nested):.3f}' if nested else ''} |"
        )
    return "\n".join(lines)


def page(path: Path) -> str:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return f"{HEADING}\n{table(rows)}\n"


if __name__ == "__main__":
    print(page(Path(sys.argv[1])), end="")
