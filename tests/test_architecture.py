"""Which module may import which, what an import does, and what is public."""

import ast
import fnmatch
import json
import os
import subprocess
import sys
import textwrap
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import snaper

SOURCE = Path(snaper.__file__).parent

# module: what it may import of the package. The first pattern that fits a module is its rule.
MAY_IMPORT = {
    "": {
        "config",
        "criteria",
        "models",
        "nuts",
        "result",
        "resume",
        "run",
        "sampler",
        "starts",
        "store",
        "target",
        "targets",
        "until",
    },
    # The core: formulas of arrays.
    "_types": set(),
    "clock": {"_types"},
    "ensemble": {"_types"},
    "jitter": {"_types"},
    "metric": {"_types"},
    "surroundings": set(),
    "digits": set(),
    "target": {"_types", "digits", "surroundings"},
    "when": {"_types"},
    "threefry": {"_types"},
    "hmc": {"_types", "metric", "threefry"},
    "slowest": {"_types", "adapt.ema", "ensemble", "hmc"},
    "criteria": {"_types", "ensemble", "hmc", "slowest"},
    # Learners see arrays, the running moments, and nothing of each other.
    "adapt": {"_types", "hmc", "metric", "when", "adapt.*"},
    "adapt.ema": {"_types"},
    "adapt.auto": {"adapt.dense", "adapt.low_rank", "adapt.moments", "metric"},
    "adapt.due": {"_types"},
    "adapt.dense": {
        "_types",
        "ensemble",
        "metric",
        "when",
        "adapt.due",
        "adapt.ema",
        "adapt.metric",
        "adapt.moments",
        "adapt.root",
    },
    "adapt.root": {"metric"},
    "adapt.low_rank": {
        "_types",
        "ensemble",
        "metric",
        "when",
        "adapt.dense",
        "adapt.due",
        "adapt.ema",
        "adapt.metric",
        "adapt.moments",
    },
    "adapt.held": {"adapt.metric", "adapt.moments", "metric"},
    "adapt.kicks": {"_types", "adapt.due", "adapt.ema", "adapt.step_size"},
    "adapt.quarantine": {"_types", "ensemble", "hmc", "when"},
    "adapt.*": {"_types", "ensemble", "metric", "adapt.ema", "adapt.moments"},
    # The algorithm, and stretches of it.
    "config": {"_types", "adapt", "clock", "criteria", "hmc", "jitter", "slowest"},
    "nuts": {"_types", "adapt", "clock", "config", "criteria", "hmc", "jitter", "metric"},
    "sampler": {"_types", "adapt", "config", "criteria", "hmc", "target", "when"},
    "chunk": {"_types", "bend", "config", "sampler", "target"},
    "starts": {"_types", "hmc", "sampler", "target"},
    # Around it: what is recorded, said and shown.
    "host": set(),
    "keep": {"host", "sampler"},
    "record": {"chunk", "host", "keep", "sampler", "watch"},
    "diagnostics": set(),
    "diagnostics.stream": {"_types", "diagnostics.rhat"},
    "diagnostics.bounds": {"_types", "target"},
    "diagnostics.pooled": {"_types", "target"},
    "diagnostics.slope": {"hmc", "sampler", "target"},
    "diagnostics.functions": {"_types", "diagnostics.entries", "target"},
    "diagnostics.certificate": {
        "_types",
        "criteria",
        "diagnostics.ess",
        "diagnostics.stream",
        "ensemble",
        "slowest",
    },
    # Families of findings see facts, and nothing of each other.
    "diagnostics.findings": {"diagnostics.judged", "diagnostics.findings.*"},
    "diagnostics.findings.finding": set(),
    "diagnostics.findings.facts": {"diagnostics.energy", "diagnostics.judged"},
    "diagnostics.findings.wording": {"diagnostics.judged"},
    "diagnostics.findings.steps": {
        "diagnostics.certificate",
        "diagnostics.findings.facts",
        "diagnostics.findings.finding",
        "diagnostics.findings.warmup",  # whether the step size has settled there
    },
    "diagnostics.findings.*": {
        "diagnostics.energy",
        "diagnostics.judged",
        "diagnostics.findings.facts",
        "diagnostics.findings.finding",
        "diagnostics.findings.wording",
    },
    "diagnostics.*": {"diagnostics.*"},
    "watch": {"_types", "bend", "config", "diagnostics.*", "sampler", "target"},
    "until": {"diagnostics.judged"},
    "arviz": set(),
    "cache": set(),
    "interrupt": set(),
    "lapack": set(),
    "memory": set(),
    "progress": set(),
    "level": {"metric"},
    "bend": {"_types", "level", "target"},
    "roughness": {"_types", "metric"},
    "pivots": {"target"},
    "factors": {"pivots"},
    "fits": {
        "_types",
        "bend",
        "factors",
        "level",
        "pivots",
        "result",
        "roughness",
        "target",
    },
    "straighten": {"bend", "fits", "roughness", "sampler", "target"},
    "result": {
        "adapt",
        "arviz",
        "bend",
        "config",
        "diagnostics.*",
        "metric",
        "sampler",
        "target",
        "until",
        "watch",
    },
    # The driver.
    "stretch": {"chunk", "config", "host", "interrupt", "record", "sampler", "target"},
    "cores": {
        "_types",
        "adapt",
        "chunk",
        "config",
        "hmc",
        "sampler",
        "stretch",
        "target",
        "threefry",
    },
    "course": {
        "bend",
        "config",
        "cores",
        "diagnostics.*",
        "interrupt",
        "keep",
        "progress",
        "record",
        "result",
        "sampler",
        "straighten",
        "stretch",
        "target",
        "until",
        "watch",
    },
    "arguments": {
        "adapt",
        "bend",
        "config",
        "criteria",
        "hmc",
        "memory",
        "metric",
        "result",
        "slowest",
        "starts",
        "target",
        "until",
    },
    "plan": {
        "config",
        "course",
        "diagnostics.functions",
        "keep",
        "progress",
        "record",
        "sampler",
        "straighten",
        "stretch",
        "target",
        "until",
    },
    "run": {
        "arguments",
        "bend",
        "cache",
        "config",
        "course",
        "criteria",
        "interrupt",
        "lapack",
        "models",
        "plan",
        "record",
        "result",
        "sampler",
        "slowest",
        "store.claim",
        "until",
    },
    # On disk: files and arrays know nothing of runs; what does is above them.
    "store": {"store.files"},
    "store.files": set(),
    "store.tree": set(),
    "store.arrays": {"store.files"},
    "store.plain": {
        "adapt",
        "clock",
        "config",
        "criteria",
        "hmc",
        "jitter",
        "nuts",
        "plan",
        "slowest",
        "until",
    },
    "store.fingerprint": {"hmc", "sampler", "target"},
    "store.standin": {"target"},
    "store.layout": {"arviz", "config", "keep", "result", "sampler", "store.arrays", "target"},
    "store.snapshot": {
        "bend",
        "level",
        "config",
        "course",
        "diagnostics.pooled",
        "hmc",
        "record",
        "sampler",
        "store.tree",
        "watch",
    },
    "store.header": {
        "config",
        "hmc",
        "plan",
        "store.fingerprint",
        "store.layout",
        "store.plain",
        "store.tree",
        "target",
    },
    "store.writer": {
        "arviz",
        "course",
        "interrupt",
        "record",
        "result",
        "store.arrays",
        "store.files",
        "store.layout",
        "store.snapshot",
        "store.tree",
    },
    "store.reader": {
        "config",
        "course",
        "diagnostics.findings",
        "hmc",
        "plan",
        "sampler",
        "store.*",
    },
    "store.claim": {"bend", "course", "interrupt", "plan", "sampler", "store.*"},
    "resume": {
        "arguments",
        "config",
        "criteria",
        "interrupt",
        "models",
        "plan",
        "result",
        "run",
        "store.*",
        "until",
    },
    # Problems to sample, and those written for other packages.
    "models": {"target", "models.*"},
    "models.*": {"_types", "digits", "surroundings", "target", "models.*"},
    "targets": {"_types", "target", "targets.*"},
    "targets.*": {"_types", "target", "targets.*"},
    # The command line.
    "cli": {"", "resume", "run", "targets"},
    "__main__": {"cli"},
}
THIRD_PARTY = {"jax", "numpy", "numpyro", "optax", "tqdm"}
EXTRAS = {
    "nuts": {"blackjax"},
    "models.*": {"pymc", "pytensor"},
    "diagnostics.estimators": {"arviz_stats"},
    "arviz": {"arviz", "xarray"},
    "store.arrays": {"zarr"},
}  # which modules may import what not everybody has


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


def imports(name: str) -> tuple[set[str], set[str]]:
    """Modules of the package, and top-level names outside it, that a module imports anywhere."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    inside, outside = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            outside |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            outside.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".") if package else []
            base = [*up[: len(up) - node.level + 1], *filter(None, [node.module])]
            for alias in node.names:
                deeper = ".".join([*base, alias.name])
                inside.add(deeper if deeper in MODULES else ".".join(base))
    return inside - {name}, outside - set(sys.stdlib_module_names)


def rule(name: str) -> set[str]:
    for pattern, allowed in MAY_IMPORT.items():
        if fnmatch.fnmatchcase(name, pattern):
            return allowed
    pytest.fail(f"{name} has no line in the table of imports")


@pytest.mark.parametrize("name", MODULES, ids=lambda name: name or "snaper")
def test_module_imports_only_what_it_may(name):
    inside, outside = imports(name)
    allowed = rule(name)
    assert not [
        other for other in inside if not any(fnmatch.fnmatchcase(other, a) for a in allowed)
    ]
    extras = [
        packages for pattern, packages in EXTRAS.items() if fnmatch.fnmatchcase(name, pattern)
    ]
    assert outside <= THIRD_PARTY.union(*extras)


def test_every_line_of_the_table_is_used():
    """A permission that nobody needs is taken back."""
    for pattern, allowed in MAY_IMPORT.items():
        users = [name for name in MODULES if rule(name) is allowed]
        assert users, pattern
        used = set().union(*(imports(name)[0] for name in users))
        unused = [permission for permission in allowed if not fnmatch.filter(used, permission)]
        assert not unused, pattern


def test_imports_have_no_cycle():
    graph = {name: imports(name)[0] for name in MODULES}
    order = [*TopologicalSorter(graph).static_order()]  # raises CycleError
    assert order.index("_types") < order.index("hmc") < order.index("sampler") < order.index("run")


def test_nothing_in_the_core_reaches_the_shell():
    """Not even through others."""
    shell = {"run", "result", "progress", "interrupt", "record", "models", "store"}
    shell |= {"targets", "cli"}

    def reached(name, seen):
        for other in imports(name)[0] - seen:
            seen |= {other} | reached(other, seen | {other})
        return seen

    for name in ("target", "hmc", "criteria", "adapt", "config", "sampler", "chunk", "starts"):
        assert not shell & {other.split(".")[0] for other in reached(name, set())}, name


IMPORT = """
    import json, os, sys
    import jax
    from jax._src import xla_bridge

    config, environment = dict(jax.config.values), dict(os.environ)
    import snaper

    print(json.dumps({
        "backends": [*xla_bridge._backends],
        "config": [k for k, v in jax.config.values.items() if config.get(k, v) != v],
        "environment": [k for k in os.environ if os.environ[k] != environment.get(k)],
        "heavy": [m for m in "numpyro arviz matplotlib pymc zarr".split() if m in sys.modules],
        "x64": jax.config.jax_enable_x64,
        "size": len(config),
    }))
"""


def test_import_touches_no_device_and_no_setting():
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    command = [sys.executable, "-c", textwrap.dedent(IMPORT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("size") > 50  # the settings were really looked at
    quiet = {"backends": [], "config": [], "environment": [], "heavy": [], "x64": False}
    assert told == quiet


def test_public_names():
    assert sorted(snaper.__all__) == [
        "Config",
        "InitializationError",
        "Run",
        "StoreError",
        "Target",
        "Tuning",
        "Until",
        "criteria",
        "from_numpyro",
        "from_pymc",
        "init",
        "load",
        "nuts",
        "resume",
        "sample",
        "step",
        "targets",
    ]
    assert all(hasattr(snaper, name) for name in snaper.__all__)
