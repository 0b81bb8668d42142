# Exports in f16. In: the folders that export.py wrote. Out: the same decoder, converted to f16 by the usual converter, with
# ONNX Runtime's logits.
#
# `python halves.py FOLDER`; needs onnx and onnxruntime.
import json
import sys
from pathlib import Path

import onnx
from onnxruntime.transformers.float16 import convert_float_to_float16

from reference import IDS, run, strip


def angles(model):
    """Names of the nodes that compute the cosines and sines."""
    makers = {name: node for node in model.graph.node for name in node.output}
    names = [node.output[0] for node in model.graph.node if node.op_type in ("Cos", "Sin")]
    found = set()
    while names:
        node = makers.get(names.pop())
        if node is not None and node.name not in found:
            found.add(node.name)
            names += node.input
    return sorted(found)


FORMS = {
    # Rounds only the tables.
    "f16-tables": lambda model: dict(keep_io_types=False, node_block_list=angles(model)),
    # Rounds the frequencies and the angles too.
    "f16-angles": lambda model: dict(keep_io_types=False),
    # Inputs and outputs stay f32. The casts for that come last, after the nodes that read them.
    "f16-inside": lambda model: dict(keep_io_types=True),
}


def main(folder):
    for name, options in FORMS.items():
        model = onnx.load(folder / "llama-cache" / "model.onnx")
        del model.graph.value_info[:]
        made = convert_float_to_float16(model, **options(model))
        path = folder / name / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(made, path)
        strip(path)
        (path.parent / "logits.json").write_text(json.dumps({"ids": IDS, "logits": run(path)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
