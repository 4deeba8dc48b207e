"""The command `snaper`: list the built-in targets, sample one, go on with that."""

import argparse
import sys
from collections.abc import Sequence

from . import __version__

INTERRUPTED = 130  # as shells have it after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        interrupted = arguments.run(arguments)
    except (ImportError, ValueError, TypeError, RuntimeError) as error:
        print(f"snaper: {error}", file=sys.stderr)
        return 2
    return INTERRUPTED if interrupted else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="snaper", description="Bayesian inference with many self-tuning HMC chains."
    )
    parser.add_argument("--version", action="version", version=f"snaper {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("targets", help="list the built-in targets")
    listing.set_defaults(run=_list_targets)

    sampling = commands.add_parser(
        "sample",
        help="sample a built-in target and print a summary",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    sampling.add_argument("name", metavar="NAME", help="as in the list of targets")
    for option, default, meaning in (
        ("chains", 64, "chains that move together"),
        ("warmup", 1000, "transitions to learn from"),
        ("draws", 1000, "transitions to keep, per chain"),
        ("seed", 0, "of the random numbers"),
    ):
        sampling.add_argument(f"--{option}", type=int, default=default, metavar="N", help=meaning)
    sampling.add_argument("--criterion", default="auto", help="what trajectories are tuned for")
    sampling.add_argument("--preset", default="default", help="default or paper")
    sampling.add_argument("--store", metavar="PATH", help="a new folder that the run is kept in")
    sampling.set_defaults(run=_sample)

    resuming = commands.add_parser("resume", help="go on with a run that was kept by --store")
    resuming.add_argument("store", metavar="PATH", help="the folder")
    resuming.add_argument("name", metavar="NAME", help="of the target that was sampled")
    resuming.add_argument(
        "--draws", type=int, metavar="N", help="to have in all (default: as were wanted)"
    )
    resuming.set_defaults(run=_resume)
    return parser


def _list_targets(_: argparse.Namespace) -> None:
    from .targets import describe

    rows = [("name", "dim", "summary", "source")]
    rows += [(each.name, str(each.dim), each.summary, each.source) for each in describe()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, dim, summary, source in rows:
        print(f"{name:<{widths[0]}}  {dim:>{widths[1]}}  {summary:<{widths[2]}}  {source}")


def _sample(arguments: argparse.Namespace) -> bool:
    """Whether it was interrupted."""
    from .run import sample
    from .targets import get

    names = ("chains", "warmup", "draws", "seed", "criterion", "preset", "store")
    run = sample(get(arguments.name), **{name: getattr(arguments, name) for name in names})
    print(run.summary())
    return run.interrupted


def _resume(arguments: argparse.Namespace) -> bool:
    """Whether it was interrupted."""
    from .resume import resume
    from .targets import get

    run = resume(arguments.store, get(arguments.name), draws=arguments.draws)
    print(run.summary())
    return run.interrupted
