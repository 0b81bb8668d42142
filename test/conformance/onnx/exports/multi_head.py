# Multi-head attention. In: a folder. Out: tiny random decoders whose attention is ONNX Runtime's MultiHeadAttention, with ONNX
# Runtime's logits: one is causal by an attribute, one by its mask.
#
# `python multi_head.py FOLDER`; needs what export.py needs.
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from reference import HEAD_DIM, HEADS, HIDDEN, IDS, INNER, LAYERS, VOCAB

RUNTIME = "com.microsoft"
LONGEST = 64


class Graph:
    """Nodes and constants under construction."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.values = [], []

    def constant(self, name, array):
        self.values.append(numpy_helper.from_array(array, name))
        return name

    def matrix(self, name, rows, columns):
        return self.constant(name, (self.random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32))

    def norm(self, name):
        return self.constant(name, (1 + 0.1 * self.random.standard_normal(HIDDEN)).astype(np.float32))

    def add(self, op, inputs, outputs, domain="", **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]


def mask_of(graph):
    """[1, 1, tokens, total]: 0 up to a row's own position, a large negative number after it."""
    total = graph.add("Gather", [graph.add("Shape", ["attention_mask"], "mask_shape"),
                                 graph.constant("one", np.int64(1))], "total")
    columns = graph.add("Range", [graph.constant("zero", np.int64(0)), total, "one"], "columns")
    rows = graph.add("Unsqueeze", ["position_ids", graph.constant("axes", np.array([1, 3]))], "rows")
    later = graph.add("Greater", [columns, rows], "later")
    return graph.add("Where", [later, graph.constant("hidden", np.float32(np.finfo(np.float32).min)),
                               graph.constant("shown", np.float32(0))], "mask")


def decoder(has_mask):
    graph = Graph(11)
    angles = np.arange(LONGEST)[:, None] / 10000 ** (np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    cos = graph.constant("cos", np.cos(angles).astype(np.float32))
    sin = graph.constant("sin", np.sin(angles).astype(np.float32))
    mask = mask_of(graph) if has_mask else ""
    x = graph.add("Gather", [graph.matrix("embed", VOCAB, HIDDEN), "input_ids"], "x")
    for layer in range(LAYERS):
        at = f"layer{layer}."
        y = graph.add("SimplifiedLayerNormalization", [x, graph.norm(f"{at}norm1")], f"{at}normed1", epsilon=1e-6)
        q, k, v = (graph.add("MatMul", [y, graph.matrix(f"{at}{part}", HIDDEN, HIDDEN)], f"{at}{part}_rows")
                   for part in "qkv")
        q, k = (graph.add("RotaryEmbedding", [rows, "position_ids", cos, sin], f"{rows}_rotated", RUNTIME,
                          num_heads=HEADS, rotary_embedding_dim=HEAD_DIM) for rows in (q, k))
        inputs = [q, k, v, "", "", mask, f"past_key_values.{layer}.key", f"past_key_values.{layer}.value"]
        made = graph.add("MultiHeadAttention", inputs, [f"{at}made", f"present.{layer}.key", f"present.{layer}.value"],
                         RUNTIME, num_heads=HEADS, unidirectional=0 if has_mask else 1)
        x = graph.add("Add", [x, graph.add("MatMul", [made, graph.matrix(f"{at}o", HIDDEN, HIDDEN)], f"{at}mixed")],
                      f"{at}x1")
        y = graph.add("SimplifiedLayerNormalization", [x, graph.norm(f"{at}norm2")], f"{at}normed2", epsilon=1e-6)
        gate, up = (graph.add("MatMul", [y, graph.matrix(f"{at}{part}", HIDDEN, INNER)], f"{at}{part}_rows")
                    for part in ("gate", "up"))
        active = graph.add("Mul", [gate, graph.add("Sigmoid", [gate], f"{at}sigmoid")], f"{at}active")
        inner = graph.add("Mul", [active, up], f"{at}inner")
        down = graph.add("MatMul", [inner, graph.matrix(f"{at}down", INNER, HIDDEN)], f"{at}down_rows")
        x = graph.add("Add", [x, down], f"{at}x2")
    y = graph.add("SimplifiedLayerNormalization", [x, graph.norm("norm")], "normed", epsilon=1e-6)
    graph.add("MatMul", [y, graph.matrix("head", HIDDEN, VOCAB)], "logits")
    return model_of(graph)


def model_of(graph):
    def value(name, kind, dims):
        return helper.make_tensor_value_info(name, kind, dims)

    whole, real = TensorProto.INT64, TensorProto.FLOAT
    parts = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
    inputs = [value("input_ids", whole, ["batch", "tokens"]), value("attention_mask", whole, ["batch", "past + tokens"]),
              value("position_ids", whole, ["batch", "tokens"]),
              *(value(f"past_key_values.{part}", real, ["batch", HEADS, "past", HEAD_DIM]) for part in parts)]
    outputs = [value("logits", real, ["batch", "tokens", VOCAB]),
               *(value(f"present.{part}", real, ["batch", HEADS, "past + tokens", HEAD_DIM]) for part in parts)]
    made = helper.make_graph(graph.nodes, "main", inputs, outputs, graph.values)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(RUNTIME, 1)],
                             ir_version=9)


def logits_of(path):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    count = len(IDS)
    known = {"input_ids": np.array([IDS]), "attention_mask": np.ones((1, count), np.int64),
             "position_ids": np.arange(count)[None]}
    past = np.zeros((1, HEADS, 0, HEAD_DIM), np.float32)
    feeds = {each.name: known.get(each.name, past) for each in session.get_inputs()}
    return [[round(float(x), 7) for x in row] for row in session.run(None, feeds)[0][0]]


def main(folder):
    for name, has_mask in (("multi-head-causal", False), ("multi-head-mask", True)):
        path = folder / name / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(decoder(has_mask), path)
        (path.parent / "logits.json").write_text(json.dumps({"ids": IDS, "logits": logits_of(path)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
