# A random graph. Each node is run by onnxruntime at once, and left out if onnxruntime rejects it.
import numpy as np
from onnx import AttributeProto, helper, numpy_helper
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions

NAN, INF = np.nan, np.inf
MAX_ELEMENTS = 4096
FLOATS = np.array([
    NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, 1e-45, 1e-40, -1e-39, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 1e20,
    -1e20, 1e-20, 88.0, 88.7, 89.0, -87.4, -88.0, -100.0, -103.9, -110.0, 16777216.0, 1e6, 1e9, -1e12, 1e30, 2147483520.0, 255.9,
], np.float32)
WHOLES = {
    np.int32: [0, 1, -1, 2, -2, 7, 46341, 65536, 2**31 - 1, -(2**31)],
    np.int64: [0, 1, -1, 2, -2, 7, 46341, 65536, 2**31 - 1, -(2**31), 2**31, 2**32, 2**40, -(2**33), 2**62, 2**63 - 1, -(2**63)],
}


def quiet():
    options = SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


OPTIONS = quiet()


def infos(arrays, symbols={}):
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), symbols.get(name, array.shape))
        for name, array in arrays.items()
    ]


def reads_of(node):
    """The names that a node reads, including those that its graphs read from outside."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            inner = attribute.g
            made = {value.name for value in inner.input} | {name for each in inner.node for name in each.output}
            made |= {tensor.name for tensor in inner.initializer}
            names += [name for each in inner.node for name in reads_of(each) if name not in made]
            names += [value.name for value in inner.output if value.name not in made]
    return names


def model_of(nodes, feeds, outputs, constants, opset, symbols={}):
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, 'random', infos(feeds, symbols), ends, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)], ir_version=9)
    return model.SerializeToString()


def session_of(node, given, opset):
    return InferenceSession(model_of([node], given, [name for name in node.output if name], {}, opset), OPTIONS)


class Graph:
    def __init__(self, seed, is_special):
        self.random = np.random.default_rng(seed)
        self.opset = int(self.random.choice([13, 17, 18, 20, 21]))
        self.is_special = is_special
        # Integers beyond 32 bits are rejected, so that few graphs have them.
        self.has_large = is_special and self.random.random() < 0.25
        self.nodes, self.feeds, self.constants, self.values, self.symbols = [], {}, {}, {}, {}
        self.count = 0

    def name(self, prefix):
        self.count += 1
        return f'{prefix}{self.count}'

    def one_of(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def below(self, count):
        return int(self.random.integers(max(1, count)))

    def data(self, dtype, shape):
        random = self.random
        if dtype == np.bool_:
            return random.random(shape) < 0.5
        if dtype in WHOLES:
            made = random.integers(-9, 10, shape).astype(dtype)
            if self.is_special:
                pool = [each for each in WHOLES[dtype] if self.has_large or -(2**31) <= each < 2**31]
                chosen = np.array(pool, dtype)[random.integers(len(pool), size=shape)]
                made = np.where(random.random(shape) < 0.2, chosen, made)
            return made.astype(dtype)
        if np.issubdtype(dtype, np.integer):
            # Half of the graphs stay where sums and differences fit.
            ends = np.iinfo(dtype) if self.is_special else None
            low, high = (max(ends.min, -(2**31)), min(ends.max, 2**31 - 1)) if ends else (0, 99)
            return random.integers(low, high, shape, endpoint=True).astype(dtype)
        made = (random.standard_normal(shape) * self.one_of(0.3, 1, 4)).astype(dtype)
        if self.is_special and random.random() < 0.7:
            chosen = FLOATS[random.integers(len(FLOATS), size=shape)]
            made = np.where(random.random(shape) < self.one_of(0.1, 0.3), chosen, made)
        return made.astype(dtype)

    def shape(self):
        rank = self.one_of(0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5)
        shape = [self.one_of(1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9) for _ in range(rank)]
        if rank > 0 and self.random.random() < 0.03:
            shape[self.below(rank)] = 0
        return shape

    def add_input(self):
        dtype = self.one_of(
            *[np.float32] * 14, *[np.int64] * 4, *[np.int32] * 3, np.bool_, np.bool_, np.float64, np.float16, np.uint8, np.int8, np.int16,
            np.uint16, np.uint32, np.uint64,
        )
        self.feed(self.data(dtype, self.shape()))

    def feed(self, array):
        """A new input, whose sizes the file states, names, or leaves open."""
        name = self.name('in')
        self.feeds[name] = array
        if self.random.random() < 0.4:
            self.symbols[name] = [self.one_of(size, f'{name} {axis}', '?') for axis, size in enumerate(array.shape)]
        return name

    def constant(self, array):
        name = self.name('c')
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def known(self):
        return {**self.feeds, **self.values}

    def pick(self, test=lambda array: True):
        found = [name for name, array in self.known().items() if test(array)]
        # Picks later values more often.
        return found[max(self.below(len(found)), self.below(len(found)))] if found else None

    def add(self, op, inputs, count=1, domain=None, **attributes):
        """Whether onnxruntime runs the node."""
        node = helper.make_node(op, inputs, [self.name('v') for _ in range(count)], domain=domain, **attributes)
        every = {**self.constants, **self.known()}
        given = {name: every[name] for name in reads_of(node)}
        try:
            made = session_of(node, given, self.opset).run(None, given)
        except Exception:
            return False
        if any(np.size(each) > MAX_ELEMENTS for each in made):
            return False
        self.nodes.append(node)
        for name, array in zip(node.output, made):
            self.values[name] = np.asarray(array)
        return True

    def model(self, is_whole):
        read = {name for node in self.nodes for name in reads_of(node)}
        outputs = [name for name in self.values if is_whole or name not in read]
        return model_of(self.nodes, self.feeds, outputs, self.constants, self.opset, self.symbols)
