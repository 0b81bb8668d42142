# Quantised exports. In: the folders that export.py wrote. Out: the same decoders as ONNX Runtime's tools
# quantise them, with the logits of float products by the quantised weights.
#
# `python quantise.py FOLDER [NAME...]`; needs onnx, onnxruntime and what its tools import. The logits do not include rounding
# of activations, because each engine uses its own scales for that.
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

from reference import HEAD_DIM, IDS, KV_HEADS, run, strip

STATIC = dict(quant_format=QuantFormat.QDQ, op_types_to_quantize=["MatMul"], weight_type=QuantType.QInt8)


class Steps(CalibrationDataReader):
    """A single prompt with no earlier tokens."""

    def __init__(self, model):
        names = [each.name for each in model.graph.input]
        past = np.zeros((1, KV_HEADS, 0, HEAD_DIM), np.float32)
        count = len(IDS)
        feeds = {"input_ids": np.array([IDS]), "attention_mask": np.ones((1, count), np.int64),
                 "position_ids": np.arange(count)[None]}
        self.feeds = iter([{name: feeds.get(name, past) for name in names}])

    def get_next(self):
        return next(self.feeds, None)


def dynamic(source, path, **options):
    quantize_dynamic(source, path, op_types_to_quantize=["MatMul", "Gather"], **options)


def bare(source, path):
    """Leaves out the norm before the first attention, as in OLMo 2. The tool then multiplies rows of the table as codes."""
    model = onnx.load(source)
    nodes = model.graph.node
    rows = next(node.output[0] for node in nodes if node.op_type == "Gather" and "input_ids" in node.input)
    normed = next(node.input[0] for node in nodes if node.name == "/layers.0/attention/q/MatMul")
    for node in nodes:
        for at, name in enumerate(node.input):
            if name == normed:
                node.input[at] = rows
    plain = path.replace("model.onnx", "plain.onnx")
    onnx.save(model, plain)
    dynamic(plain, path, weight_type=QuantType.QInt8, per_channel=True)
    Path(plain).unlink()


def static(source, path):
    # The angles of RoPE stay floats, as in every export meant for more than a few tokens.
    quantize_static(source, path, Steps(onnx.load(source)), per_channel=True, nodes_to_exclude=["/MatMul"],
                    activation_type=QuantType.QUInt8, **STATIC)


def halved(source, path):
    """Halves all calibrated ranges, so that every step exceeds them, except those of probabilities (0 to 1)."""
    model = onnx.load(source)
    values = {each.name: each for each in model.graph.initializer}
    scales = {node.input[1] for node in model.graph.node
              if node.op_type == "QuantizeLinear" and numpy_helper.to_array(values[node.input[2]]) > 0}
    for name in scales:
        values[name].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(values[name]) / np.float32(2), name))
    onnx.save(model, path)


def blocks(source, path, size, symmetric):
    config = DefaultWeightOnlyQuantConfig(block_size=size, is_symmetric=symmetric, quant_format=QuantFormat.QDQ)
    made = MatMulNBitsQuantizer(onnx.load(source), algo_config=config)
    made.process()
    onnx.save(made.model.model, path)


FORMS = {
    "dynamic-i8": ("llama-cache", lambda *paths: dynamic(*paths, weight_type=QuantType.QInt8, per_channel=True)),
    "dynamic-u8": ("qwen2-cache", lambda *paths: dynamic(*paths, weight_type=QuantType.QUInt8)),
    "dynamic-bare": ("llama-cache", bare),
    "qdq-static": ("llama-cache", static),
    "qdq-limits": ("qdq-static", halved),
    "qdq-blocks-32": ("opset23", lambda *paths: blocks(*paths, 32, True)),
    "qdq-blocks-16": ("opset23", lambda *paths: blocks(*paths, 16, False)),
}


def dequantised(node, values):
    """The value of a DequantizeLinear of constants."""
    session = onnx.helper.make_model(
        onnx.helper.make_graph([node], "part", [], [onnx.helper.make_tensor_value_info(node.output[0], 1, None)],
                               [values[name] for name in node.input]),
        opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    import onnxruntime
    made = onnxruntime.InferenceSession(session.SerializeToString()).run(None, {})[0]
    return numpy_helper.from_array(made, node.output[0])


def limits_of(node, values):
    """The values of the smallest and the largest code."""
    scale, zero = (numpy_helper.to_array(values[name]) for name in node.input[1:3])
    codes = np.iinfo(zero.dtype)
    ends = [(code - float(zero)) * float(scale) for code in (codes.min, codes.max)]
    return [numpy_helper.from_array(np.float32(end), f"{node.name}_{at}") for at, end in enumerate(ends)]


def without_rounding(model):
    """Float products by the quantised weights, and values clamped to their codes' ranges in place of codes."""
    graph = model.graph
    values = {each.name: each for each in graph.initializer}
    nodes, floats = [], []
    for node in graph.node:
        kind = node.op_type
        if kind == "DequantizeLinear" and node.input[0] in values:
            floats.append(dequantised(node, values))
        elif kind == "QuantizeLinear" and node.input[1] in values:
            limits = limits_of(node, values)
            floats.extend(limits)
            nodes.append(onnx.helper.make_node("Clip", [node.input[0], *(each.name for each in limits)], node.output))
        elif kind in ("QuantizeLinear", "DequantizeLinear") and node.input[0] not in values and "Gather" not in node.input[0]:
            nodes.append(onnx.helper.make_node("Identity", node.input[:1], node.output[:1]))
        elif kind == "DynamicQuantizeLinear":
            nodes.append(onnx.helper.make_node("Identity", node.input[:1], node.output[:1]))
            floats.append(numpy_helper.from_array(np.float32(1), node.output[1]))
        elif kind == "MatMulInteger":
            codes, zero = (numpy_helper.to_array(values[node.input[at]]).astype(np.float32) for at in (1, 3))
            floats.append(numpy_helper.from_array(codes - zero, f"{node.output[0]}_codes"))
            rows = node.input[0]
            if node.input[2] in values:  # Rows of a table of codes.
                rows = f"{node.output[0]}_rows"
                one = numpy_helper.from_array(np.float32(1), f"{rows}_one")
                floats.append(one)
                nodes.append(onnx.helper.make_node("DequantizeLinear", [node.input[0], one.name, node.input[2]], [rows]))
            nodes.append(onnx.helper.make_node("MatMul", [rows, f"{node.output[0]}_codes"], node.output))
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(floats)
    return model


def main(folder, wanted):
    for name, (source, quantise) in FORMS.items():
        if wanted and name not in wanted:
            continue
        path = folder / name / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        quantise(str(folder / source / "model.onnx"), str(path))
        strip(path)
        twin = folder / name / "twin.onnx"
        onnx.save(without_rounding(onnx.load(path)), twin)
        (folder / name / "logits.json").write_text(json.dumps({"ids": IDS, "logits": run(twin)}))
        twin.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
