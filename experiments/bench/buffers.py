"""What a draw takes on a GPU: operations in turn or beside each other, with learners or without."""

from dataclasses import replace
from functools import partial

import numpy as np

import snaper
from snaper import chunk, config, sampler, targets
from snaper.adapt import Resting

from .overhead import SAMPLERS
from .problems import start
from .timing import Bare, in_turn, seconds

COUNT = 512  # draws of one timed call
IN_TURN = {"xla_gpu_command_buffer_scheduling_mode": "SERIALIZE"}


def measure(problem: str, chains: int, kind: str) -> dict:
    """Seconds of one draw in the compiled stretch, and of its gradients alone."""
    target, asked = targets.get(problem), SAMPLERS[kind]
    size = {"chains": chains, "progress": False, "coordinates": "given"}  # as what is timed has
    size["init"] = start(problem, chains)
    state = snaper.sample(target, warmup=400, draws=5, seed=1, **size, **asked).state
    learning = config.preset("default", **asked)
    resting = replace(learning, adapt=Resting())
    programs = {
        "learners": (learning, state),
        "no learners": (resting, state._replace(adapt=sampler.learnt(learning, state))),
    }
    found, steps = {}, 0.0
    bare = Bare(target, state.chains.x)
    for name, (chosen, begin) in programs.items():
        for how, options in {"in turn": IN_TURN, "beside": {}}.items():
            advance = chunk.compiling({**chunk.COMMAND_BUFFERS, **options})
            buffer = [chunk.empty(target, chosen, begin, COUNT)]

            def draws(advance=advance, chosen=chosen, begin=begin, buffer=buffer):
                """The record is written in place, and can be handed on once."""
                _, record, _ = advance(target, chosen, begin, buffer.pop(), 0, COUNT, 1)
                buffer.append(record)
                return record

            first = seconds(draws)
            took = in_turn(partial(seconds, draws), rounds=7).min() / COUNT
            steps = float(np.mean(np.asarray(buffer[0].info.n_steps)))
            found[f"{name}, {how}"] = {"seconds": float(took), "first_seconds": first}
    times = in_turn(bare.gradient, bare.both).min(axis=0)
    ideal = float((steps - 1.0) * times[0] + times[1])
    about = {"problem": problem, "chains": chains, "sampler": kind, "mean_steps": steps}
    return {**about, "ideal": ideal, "draws": found}
