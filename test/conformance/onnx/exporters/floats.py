# Twins of a graph. In: a graph whose weights are codes or 16-bit floats. Out: graphs that compute in f32 with the same weights,
# for comparisons without activation rounding, and how far rounding moves the logits.
import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import reference

GROUP, HALF_STEP = 32, 2.0**-11
F32 = TensorProto.FLOAT
SHORT = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


def nibbles(codes, count):
    """The low half of each byte comes first."""
    return np.stack([codes & 15, codes >> 4], axis=-1).reshape(*codes.shape[:-1], -1)[..., :count]


def in_groups(table):
    """Rounded to 8 bits in groups of 32 along the last axis."""
    parts = table.reshape(-1, GROUP)
    steps = np.maximum(np.abs(parts).max(axis=1, keepdims=True) / 127, 1e-30)
    return (np.round(parts / steps) * steps).reshape(table.shape).astype(np.float32)


class Twin:
    """`noise`: scales, and scales times zero points, are moved by up to that part. `groups`: activations and
    weights of products by codes, and embeddings that are codes, are rounded to 8 bits in groups of 32."""

    def __init__(self, model, noise=0.0, groups=False):
        self.model, self.noise, self.groups = model, noise, groups
        self.values = {each.name: each for each in model.graph.initializer}
        self.makers = {name: node for node in model.graph.node for name in node.output}
        self.random = np.random.default_rng(31)
        self.nodes, self.made = [], {}

    def stored(self, name):
        """A constant, possibly after a Reshape of another one, like the codes of a tied embedding."""
        if name in self.values:
            return self.values[name]
        node = self.makers[name]
        inputs = [self.stored(each) for each in node.input]
        graph = helper.make_graph([node], "part", [], [helper.make_empty_tensor_value_info(name)], inputs)
        part = helper.make_model(graph, opset_imports=self.model.opset_import)
        return numpy_helper.from_array(ReferenceEvaluator(part).run(None, {})[0], name)

    def array(self, name):
        found = numpy_helper.to_array(self.stored(name))
        return found.astype(np.float32) if found.dtype in (np.float16, ml_dtypes.bfloat16) else found

    def moved(self, values):
        return values * (1 + self.noise * self.random.uniform(-1, 1, values.shape)).astype(np.float32)

    def weights(self, codes, scales, zeros, middle, wide=lambda values: values):
        """Without zero points, codes are centred on `middle`; with them, a reader may store scale * zero separately."""
        scales, codes = np.asarray(scales, np.float32), codes.astype(np.float32)
        if zeros is None:
            return (codes - middle) * wide(self.moved(scales))
        return codes * wide(self.moved(scales)) - wide(self.moved(scales * zeros.astype(np.float32)))

    def constant(self, name, values):
        self.made[name] = numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name)
        return name

    def add(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"{outputs[0]}_{op}", **attributes))
        return outputs[0]

    def product(self, node, weights, bias=""):
        """`weights` are [inputs][outputs]."""
        rows, name = node.input[0], node.output[0]
        if self.groups and weights.shape[0] % GROUP == 0:
            weights = in_groups(weights.T).T
            rows = self.rounded(rows, name)
        out = f"{name}_product" if bias else name
        self.add("MatMul", [rows, self.constant(f"{name}_weights", weights)], [out])
        if bias:
            self.add("Add", [out, bias], [name])

    def rounded(self, rows, name):
        """In each group, a step is max |x| / 127."""
        shape = lambda what, dims: numpy_helper.from_array(np.array(dims, np.int64), f"{name}_{what}")
        for made in (shape("parts", [-1, GROUP]), shape("axis", [1])):
            self.made[made.name] = made
        self.constant(f"{name}_127", np.float32(127))
        self.constant(f"{name}_least", np.float32(1e-30))
        self.add("Shape", [rows], [f"{name}_shape"])
        self.add("Reshape", [rows, f"{name}_parts"], [f"{name}_grouped"])
        self.add("Abs", [f"{name}_grouped"], [f"{name}_sizes"])
        opset = next(each.version for each in self.model.opset_import if each.domain in ("", "ai.onnx"))
        if opset >= 18:
            self.add("ReduceMax", [f"{name}_sizes", f"{name}_axis"], [f"{name}_largest"], keepdims=1)
        else:
            self.add("ReduceMax", [f"{name}_sizes"], [f"{name}_largest"], axes=[1], keepdims=1)
        self.add("Div", [f"{name}_largest", f"{name}_127"], [f"{name}_step"])
        self.add("Max", [f"{name}_step", f"{name}_least"], [f"{name}_steps"])
        self.add("Div", [f"{name}_grouped", f"{name}_steps"], [f"{name}_codes"])
        self.add("Round", [f"{name}_codes"], [f"{name}_whole"])
        self.add("Mul", [f"{name}_whole", f"{name}_steps"], [f"{name}_again"])
        return self.add("Reshape", [f"{name}_again", f"{name}_shape"], [f"{name}_rows"])

    def MatMulNBits(self, node):
        has = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        bits, size, outputs, inputs = has.get("bits", 4), has["block_size"], has["N"], has["K"]
        blocks = -(-inputs // size)
        codes = self.array(node.input[1]).reshape(outputs, blocks, -1)
        codes = nibbles(codes, size) if bits == 4 else codes
        scales = self.array(node.input[2]).reshape(outputs, blocks, 1)
        zeros = None
        if len(node.input) > 3 and node.input[3]:
            zeros = self.array(node.input[3]).reshape(outputs, -1)
            if zeros.dtype == np.uint8 and bits == 4:
                zeros = nibbles(zeros, blocks)
            zeros = zeros.reshape(outputs, blocks, 1)
        weights = self.weights(codes, scales, zeros, 1 << (bits - 1)).reshape(outputs, -1)[:, :inputs]
        self.product(node, weights.T, node.input[5] if len(node.input) > 5 else "")

    def MatMulBnb4(self, node):
        """Recovers the weights as the node's product with the identity."""
        inputs = next(each.i for each in node.attribute if each.name == "K")
        scales = numpy_helper.from_array(self.moved(self.array(node.input[2])), node.input[2])
        ends = [helper.make_tensor_value_info(name, F32, None) for name in (node.input[0], node.output[0])]
        graph = helper.make_graph([node], "part", ends[:1], ends[1:], [self.stored(node.input[1]), scales])
        opsets = [each for each in self.model.opset_import]
        if not any(each.domain == node.domain for each in opsets):
            opsets.append(helper.make_opsetid(node.domain, 1))
        part = helper.make_model(graph, opset_imports=opsets, ir_version=self.model.ir_version)
        rows = {node.input[0]: np.eye(inputs, dtype=np.float32)}
        self.product(node, reference.session_of(part).run(None, rows)[0])

    def GatherBlockQuantized(self, node):
        has = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        codes, bits = self.array(node.input[0]), has.get("bits", 4)
        if codes.dtype == np.uint8 and bits == 4:
            codes = nibbles(codes, codes.shape[-1] * 2)
        size = has.get("block_size", 128)
        wide = lambda values: np.repeat(values, size, axis=-1)[..., : codes.shape[-1]]
        scales, zeros = self.array(node.input[2]), None
        if len(node.input) > 3 and node.input[3]:
            zeros = self.array(node.input[3])
            if zeros.dtype == np.uint8 and zeros.shape != scales.shape:
                zeros = nibbles(zeros, scales.shape[-1])
        middle = (1 << (bits - 1)) if self.stored(node.input[0]).data_type == TensorProto.UINT8 else 0
        table = self.weights(codes, scales, zeros, middle, wide)
        table = in_groups(table) if self.groups else table
        self.add("Gather", [self.constant(f"{node.output[0]}_table", table), node.input[1]], node.output, axis=0)

    def DynamicQuantizeLinear(self, node):
        self.made_rows.add(node.output[0])
        self.add("Identity", node.input, node.output[:1])
        self.constant(node.output[1], np.float32(1))

    def MatMulInteger(self, node):
        zeros = self.array(node.input[3]).astype(np.float32) if len(node.input) > 3 and node.input[3] else 0
        if node.input[0] not in self.made_rows:  # Codes of an embedding that a product reads unchanged.
            name = node.output[0]
            self.add("Cast", node.input[:1], [f"{name}_from"], to=F32)
            self.constant(f"{name}_zero", self.array(node.input[2]).astype(np.float32))
            node.input[0] = self.add("Sub", [f"{name}_from", f"{name}_zero"], [f"{name}_rows_from"])
        self.product(node, self.array(node.input[1]).astype(np.float32) - zeros)

    def DequantizeLinear(self, node):
        if node.input[0] in self.made_rows:
            return self.add("Identity", node.input[:1], node.output)
        if node.input[0] not in self.values:  # Rows looked up in a table of codes.
            name = node.output[0]
            self.nodes.append(node)
            if self.groups:
                node.output[0] = f"{name}_exact"
                self.add("Identity", [self.rounded(f"{name}_exact", name)], [name])
            return None
        has = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        codes, scales = self.array(node.input[0]), self.array(node.input[1])
        zeros = self.array(node.input[2]) if len(node.input) > 2 and node.input[2] else None
        size, axis = has.get("block_size", 0), has.get("axis", 1) % max(codes.ndim, 1)

        def wide(values):
            if size:
                return np.repeat(values, size, axis=axis)
            return values.reshape([-1 if at == axis else 1 for at in range(codes.ndim)]) if values.ndim == 1 else values

        self.constant(node.output[0], self.weights(codes, scales, zeros, 0, wide))

    def QuantizeLinear(self, node):
        """Clamps values to the codes' range without rounding."""
        self.made_rows.add(node.output[0])
        scale, zero = (numpy_helper.to_array(self.values[name]) for name in node.input[1:3])
        codes = np.iinfo(zero.dtype)
        ends = [self.constant(f"{node.output[0]}_{end}", np.float32((end - float(zero)) * float(scale)))
                for end in (codes.min, codes.max)]
        self.add("Clip", [node.input[0], *ends], node.output)

    def GroupQueryAttention(self, node):
        """Built-in head norms, which ONNX Runtime supports only on other devices, become separate nodes."""
        self.nodes.append(node)
        if not has_norms(node):
            return
        has = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        counts, width = [has["num_heads"], has["kv_num_heads"]], self.array(node.input[14]).shape[0]
        name, epsilon = node.output[0], has.get("qk_norm_epsilon", 1e-6)
        shape = lambda what, dims: self.made.setdefault(
            f"{name}_{what}", numpy_helper.from_array(np.array(dims, np.int64), f"{name}_{what}")).name
        self.nodes.pop()
        if not node.input[1]:
            parts = [f"{name}_{part}" for part in "qkv"]
            sizes = shape("sizes", [counts[0] * width, counts[1] * width, counts[1] * width])
            self.add("Split", [node.input[0], sizes], parts, axis=2)
            node.input[0], node.input[1], node.input[2] = parts
        for at, count in enumerate(counts):
            apart = self.add("Reshape", [node.input[at], shape("heads", [0, -1, width])], [f"{name}_apart_{at}"])
            made = self.add("SimplifiedLayerNormalization", [apart, node.input[14 + at]], [f"{name}_normed_{at}"],
                            axis=-1, epsilon=epsilon)
            node.input[at] = self.add("Reshape", [made, shape(f"rows_{at}", [0, -1, count * width])],
                                      [f"{name}_joined_{at}"])
        del node.input[12:]
        kept = [each for each in node.attribute if each.name != "qk_norm_epsilon"]
        del node.attribute[:]
        node.attribute.extend(kept)
        self.nodes.append(node)

    def build(self):
        self.made_rows = set()
        graph = self.model.graph
        for node in graph.node:
            own = getattr(self, node.op_type, None) if node.op_type[0].isupper() else None
            if own is None:
                self.nodes.append(node)
            else:
                own(node)
        # Scales of products of codes are separate factors, which are perturbed in place.
        scales = {name for node in graph.node for name in node.input if name.endswith("_scale")}
        for name in scales & self.values.keys() - self.made.keys():
            self.made[name] = numpy_helper.from_array(
                np.asarray(self.moved(self.array(name)), self.array(name).dtype), name)
        del graph.node[:], graph.value_info[:]
        graph.node.extend(self.nodes)
        kept = [each for each in graph.initializer if each.name not in self.made]
        del graph.initializer[:]
        graph.initializer.extend([*kept, *self.made.values()])
        return widened(self.model)


def has_norms(node):
    return node.op_type == "GroupQueryAttention" and len(node.input) > 15 and node.input[14] != ""


def widened(model):
    """f32 in place of f16 and bf16."""
    def wide(tensor):
        return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name)

    def walk(graph):
        for tensor in graph.initializer:
            if tensor.data_type in SHORT:
                tensor.CopyFrom(wide(tensor))
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.type.tensor_type.elem_type in SHORT:
                value.type.tensor_type.elem_type = F32
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    walk(attribute.g)
                elif attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type in SHORT:
                    attribute.t.CopyFrom(wide(attribute.t))
                elif attribute.name in ("to", "dtype", "output_datatype") and attribute.i in SHORT:
                    attribute.i = F32

    walk(model.graph)
    return model


def write(folder, **meta):
    """The folder's references: the graph's logits, the float twin's, and how far rounding moves them."""
    path = str(folder / "model.onnx")
    twin = lambda **options: reference.run(Twin(onnx.load(path), **options).build(), exact=True)
    floats = twin()
    floats.astype("<f4").tofile(folder / "floats.f32")
    # If this machine's ONNX Runtime cannot compute it (bf16, built-in head norms), uses the f32 twin.
    is_foreign = meta["kind"] == "bf16" or any(has_norms(node) for node in onnx.load(path).graph.node)
    logits = floats if is_foreign else reference.run(path)
    moved = {"scales": 0.0, "groups": 0.0, "runtime": reference.largest(logits, floats)}
    if meta["kind"] in ("int8", "int4"):
        moved |= {"scales": reference.largest(twin(noise=HALF_STEP), floats),
                  "groups": reference.largest(twin(groups=True), floats)}
    reference.save(folder, logits, {**meta, "moved": moved})
