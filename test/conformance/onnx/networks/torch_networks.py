# Exports networks with torch, by torch.export (dynamo) and by tracing (TorchScript).
# `python torch_networks.py FOLDER [NAME...]` writes a folder for each: model.onnx, and sizes.json, the sizes of
# the open axes on which to compare.
import json
import logging
import shutil
import sys
import warnings
from pathlib import Path

import onnx
import torch

from decoders import Step
from networks import First, networks


def settle(module):
    """Statistics and scales like a trained model's, none of them 0 or 1."""
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.3)
            part.running_var.uniform_(0.5, 2)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() < 2:
                parameter.add_(0.2 * torch.randn_like(parameter))


def export(target, name, make, how):
    target.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    module, inputs, axes, sizes = make()
    module = module.eval()
    settle(module)
    names = list(axes)
    with torch.no_grad():
        if how == "dynamo":
            shapes = tuple({axis: torch.export.Dim.AUTO for axis in axes[each]} for each in names)
            if isinstance(module, First):
                shapes = (shapes,)
            if isinstance(module, Step):
                shapes = (*shapes[:3], shapes[3:])
            torch.onnx.export(module, inputs, str(target / "model.onnx"), dynamo=True, input_names=names,
                              output_names=["made"], dynamic_shapes=shapes, external_data=False, verbose=False)
        else:
            torch.onnx.export(module, inputs, str(target / "model.onnx"), dynamo=False, input_names=names,
                              output_names=["made"], dynamic_axes=axes, opset_version=17)
    without_comments(target / "model.onnx")
    symbols = list(dict.fromkeys(symbol for each in axes.values() for symbol in each.values()))
    dims = [[axes[each].get(axis, size) for axis, size in enumerate(given.shape)] for each, given in zip(names, inputs)]
    meta = {"inputs": [{"name": each, "dims": own} for each, own in zip(names, dims)], "symbols": symbols,
            "sizes": sizes}
    (target / "sizes.json").write_text(json.dumps(meta) + "\n")


def without_comments(path):
    """Removes the exporter's notes on where each node came from, which are more than half of a small file."""
    model = onnx.load(path)
    graphs = [model.graph, *model.functions]
    for graph in graphs:
        for part in (graph, *graph.node, *getattr(graph, "value_info", [])):
            part.doc_string = ""
            if hasattr(part, "metadata_props"):
                del part.metadata_props[:]
    onnx.save(model, path)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    for name, make in networks().items():
        for how in ("dynamo", "script"):
            if wanted and not any(part in f"{how}-{name}" for part in wanted):
                continue
            target = folder / f"{how}-{name}"
            try:
                export(target, name, make, how)
                print(f"{target.name}: written", flush=True)
            except Exception as error:  # A failing exporter adds a line to the report and does not end it.
                shutil.rmtree(target, ignore_errors=True)
                print(f"{target.name}: not written: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
