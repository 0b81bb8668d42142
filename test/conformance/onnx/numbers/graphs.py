# Random graphs for compare.py. Each random node is run by onnxruntime at once, and replaced by another one if onnxruntime
# rejects it.
import numpy as np
from onnx import helper, numpy_helper
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
    options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


OPTIONS = quiet()


def infos(arrays):
    return [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in arrays.items()]


def model_of(nodes, feeds, outputs, constants, opset):
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, 'random', infos(feeds), [helper.make_empty_tensor_value_info(name) for name in outputs], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)], ir_version=9)
    return model.SerializeToString()


def session_of(node, given, opset):
    return InferenceSession(model_of([node], given, [name for name in node.output if name], {}, opset), OPTIONS)


class Graph:
    def __init__(self, seed, is_special):
        self.random = np.random.default_rng(seed)
        self.opset = int(self.random.choice([13, 17, 18, 20]))
        self.is_special = is_special
        # Integers beyond 32 bits are rejected, so that few graphs have them.
        self.has_large = is_special and self.random.random() < 0.25
        self.nodes, self.feeds, self.constants, self.values = [], {}, {}, {}
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
        if dtype in (np.uint8, np.int8):
            return random.integers(0, 100, shape).astype(dtype)
        made = (random.standard_normal(shape) * self.one_of(0.3, 1, 4)).astype(dtype)
        if self.is_special and random.random() < 0.7:
            chosen = FLOATS[random.integers(len(FLOATS), size=shape)]
            made = np.where(random.random(shape) < self.one_of(0.1, 0.3), chosen, made)
        return made.astype(dtype)

    def shape(self):
        rank = self.one_of(0, 1, 1, 2, 2, 2, 3, 3, 4, 4)
        return [self.one_of(1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9) for _ in range(rank)]

    def add_input(self):
        dtype = self.one_of(*[np.float32] * 10, *[np.int64] * 4, *[np.int32] * 3, np.bool_, np.bool_, np.float64, np.uint8, np.int8)
        name = self.name('in')
        self.feeds[name] = self.data(dtype, self.shape())

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

    def add(self, op, inputs, count=1, **attributes):
        """Whether onnxruntime runs the node."""
        node = helper.make_node(op, inputs, [self.name('v') for _ in range(count)], **attributes)
        every = {**self.constants, **self.known()}
        given = {name: every[name] for name in inputs if name}
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
        read = {name for node in self.nodes for name in node.input}
        outputs = [name for name in self.values if is_whole or name not in read]
        return model_of(self.nodes, self.feeds, outputs, self.constants, self.opset)


def is_float(array):
    return array.dtype == np.float32


def is_number(array):
    return array.dtype in (np.float32, np.int32, np.int64)


def is_whole(array):
    return array.dtype in (np.int32, np.int64)


UNARY = [
    'Abs', 'Neg', 'Exp', 'Log', 'Sqrt', 'Sin', 'Cos', 'Tan', 'Sinh', 'Cosh', 'Tanh', 'Erf', 'Floor', 'Ceil', 'Round', 'Sign', 'Relu',
    'Sigmoid', 'Softplus', 'Softsign', 'HardSigmoid', 'HardSwish', 'LeakyRelu', 'Elu', 'Selu', 'Celu', 'ThresholdedRelu', 'Reciprocal',
    'IsNaN', 'IsInf', 'Identity', 'Mish', 'Gelu',
]


def unary(g):
    op = g.one_of(*UNARY, 'Abs', 'Neg', 'Sign', 'Exp', 'Sin', 'Cos')
    x = g.pick(is_number if op in ('Abs', 'Neg', 'Sign', 'Identity', 'Relu') else is_float)
    return x is not None and g.add(op, [x])


def partner(g, x):
    """A value or a constant with which x may be combined."""
    array = g.known()[x]
    if g.random.random() < 0.4:
        def fits(other):
            try:
                return other.dtype == array.dtype and np.broadcast_shapes(other.shape, array.shape) is not None
            except ValueError:
                return False
        return g.pick(fits)
    shape = [size if g.random.random() < 0.7 else 1 for size in array.shape][g.below(array.ndim + 1):]
    return g.constant(g.data(array.dtype.type, shape))


def binary(g):
    x = g.pick(lambda array: is_number(array) or array.dtype == np.float64)
    if x is None:
        return False
    y = partner(g, x)
    op = g.one_of('Add', 'Sub', 'Mul', 'Div', 'Pow', 'Min', 'Max', 'Equal', 'Less', 'GreaterOrEqual', 'Mod', 'PRelu')
    array = g.known()[x]
    if is_whole(array) and op in ('Div', 'Mod'):
        other = {**g.constants, **g.known()}[y]
        y = g.constant(np.where(other == 0, 3, other).astype(array.dtype))
        # The processor traps if the smallest integer is divided by -1.
        if array.dtype == np.int64 or (other == -1).any():
            if (array == np.iinfo(array.dtype).min).any():
                return False
    inputs = [x, y] if g.random.random() < 0.7 or op in ('PRelu', 'Div', 'Mod') else [y, x]
    if op in ('Min', 'Max') and g.random.random() < 0.3:
        inputs.append(inputs[0])
    fmod = {'fmod': 1} if op == 'Mod' and array.dtype.kind == 'f' else {}
    return g.add(op, inputs, **fmod)


def logic(g):
    x = g.pick(lambda array: array.dtype == np.bool_)
    if x is None:
        return False
    return g.add('Not', [x]) if g.random.random() < 0.3 else g.add(g.one_of('And', 'Or', 'Xor'), [x, partner(g, x)])


def clip(g):
    x = g.pick(is_number)
    dtype = g.known()[x].dtype.type if x else None
    return x is not None and g.add('Clip', [x, g.constant(g.data(dtype, [])), g.constant(g.data(dtype, []))])


def cast(g):
    x = g.pick()
    kind = g.one_of(np.float32, np.float32, np.int64, np.int32, np.bool_, np.float64)
    return g.add('Cast', [x], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(kind))))


def where(g):
    condition = g.pick(lambda array: array.dtype == np.bool_)
    x = g.pick(is_number)
    return None not in (condition, x) and g.add('Where', [condition, x, partner(g, x)])


REDUCTIONS = [
    'ReduceSum', 'ReduceMax', 'ReduceMin', 'ReduceProd', 'ReduceMean', 'ReduceL1', 'ReduceL2', 'ReduceSumSquare', 'ReduceLogSumExp',
    'ReduceLogSum',
]


def with_axes(g, test):
    x = g.pick(lambda array: test(array) and array.ndim > 0)
    return (None, 0) if x is None else (x, g.below(g.known()[x].ndim))


def reduction(g):
    x, axis = with_axes(g, is_number)
    if x is None:
        return False
    op = g.one_of(*REDUCTIONS, 'ReduceSum', 'ReduceProd', 'ReduceMax', 'ReduceMin')
    rank = g.known()[x].ndim
    axes = sorted({axis, g.below(rank)})
    keep = {'keepdims': g.below(2)}
    if g.opset >= 18 or op == 'ReduceSum':
        return g.add(op, [x, g.ints(*axes)], **keep)
    return g.add(op, [x], axes=axes, **keep)


def places(g):
    x, axis = with_axes(g, is_number)
    if x is None:
        return False
    op = g.one_of('ArgMax', 'ArgMin', 'TopK', 'CumSum')
    if op == 'TopK':
        count = 1 + g.below(g.known()[x].shape[axis])
        return g.add('TopK', [x, g.ints(count)], 2, axis=axis, largest=g.below(2), sorted=1)
    if op == 'CumSum':
        return g.add('CumSum', [x, g.constant(np.int64(axis))], exclusive=g.below(2), reverse=g.below(2))
    return g.add(op, [x], axis=axis, keepdims=g.below(2), select_last_index=g.below(2))


def rows(g):
    x, axis = with_axes(g, is_float)
    if x is None:
        return False
    array = g.known()[x]
    op = g.one_of('Softmax', 'LogSoftmax', 'LayerNormalization', 'MatMul', 'MatMul', 'Gemm', 'Hardmax')
    if op in ('Softmax', 'LogSoftmax', 'Hardmax'):
        return g.add(op, [x], axis=axis)
    last = array.shape[-1]
    if op == 'LayerNormalization':
        return g.add(op, [x, g.constant(g.data(np.float32, [last])), g.constant(g.data(np.float32, [last]))])
    matrix = g.constant(g.data(np.float32, [last, 1 + g.below(12)]))
    if op == 'MatMul':
        return g.add(op, [x, matrix])
    return g.add(op, [x, matrix, g.constant(g.data(np.float32, [1]))], alpha=g.one_of(1.0, 0.5), beta=g.one_of(1.0, 2.0))


def image(g):
    x = g.pick(lambda array: is_float(array) and array.ndim in (3, 4))
    if x is None:
        return False
    array = g.known()[x]
    rank, channels = array.ndim - 2, array.shape[1]
    kernel = [1 + g.below(min(3, size)) for size in array.shape[2:]]
    form = {'kernel_shape': kernel, 'strides': [1 + g.below(2) for _ in range(rank)], 'pads': [g.below(min(2, size)) for size in kernel * 2]}
    op = g.one_of('Conv', 'ConvTranspose', 'MaxPool', 'AveragePool', 'GlobalMaxPool', 'GlobalAveragePool', 'InstanceNormalization',
                  'BatchNormalization', 'Resize')
    of_channels = [g.constant(g.data(np.float32, [channels])) for _ in range(3)]
    if op == 'Conv':
        return g.add(op, [x, g.constant(g.data(np.float32, [1 + g.below(4), channels, *kernel]))], dilations=[1 + g.below(2) for _ in range(rank)], **form)
    if op == 'ConvTranspose':
        return g.add(op, [x, g.constant(g.data(np.float32, [channels, 1 + g.below(3), *kernel]))], dilations=[1 + g.below(2) for _ in range(rank)], **form)
    if op in ('MaxPool', 'AveragePool'):
        return g.add(op, [x], **form)
    if op == 'InstanceNormalization':
        return g.add(op, [x, *of_channels[:2]])
    if op == 'BatchNormalization':
        return g.add(op, [x, *of_channels, g.constant(np.abs(g.data(np.float32, [channels])))])
    if op == 'Resize':
        sizes = [*array.shape[:2], *[1 + g.below(2 * size + 1) for size in array.shape[2:]]]
        mode = g.one_of('nearest', 'linear', 'cubic')
        return g.add(op, [x, '', '', g.ints(*sizes)], mode=mode, coordinate_transformation_mode=g.one_of('half_pixel', 'asymmetric', 'align_corners'))
    return g.add(op, [x])


def gather(g):
    x, axis = with_axes(g, lambda array: True)
    if x is None:
        return False
    size = g.known()[x].shape[axis]
    if size == 0:
        return False
    chosen = g.random.integers(-size, size, [1 + g.below(4) for _ in range(g.below(3))])
    return g.add('Gather', [x, g.constant(chosen.astype(np.int64))], axis=axis)


def scatter(g):
    x, axis = with_axes(g, is_number)
    if x is None:
        return False
    array = g.known()[x]
    if 0 in array.shape:
        return False
    by = {'reduction': g.one_of('none', 'add', 'mul', 'min', 'max')} if g.opset >= 18 else {}
    if g.random.random() < 0.5:
        shape = [1 + g.below(size) for size in array.shape]
        index = g.random.integers(0, array.shape[axis], shape).astype(np.int64)
        # Without a reduction, the order of equal indices is undefined.
        if not by or by['reduction'] == 'none':
            index = np.argsort(g.random.random(array.shape), axis)[tuple(slice(size) for size in shape)].astype(np.int64)
        return g.add('ScatterElements', [x, g.constant(index), g.constant(g.data(array.dtype.type, shape))], axis=axis, **by)
    count = 1 if not by or by['reduction'] == 'none' else 1 + g.below(4)
    index = np.stack([g.random.integers(0, size, [count]) for size in array.shape[: 1 + g.below(array.ndim)]], -1).astype(np.int64)
    updates = g.data(array.dtype.type, [count, *array.shape[index.shape[-1]:]])
    return g.add('ScatterND', [x, g.constant(index), g.constant(updates)], **by)


def moved(g):
    x, axis = with_axes(g, lambda array: array.dtype != np.uint8)
    if x is None:
        return False
    array = g.known()[x]
    op = g.one_of('Transpose', 'Flatten', 'Unsqueeze', 'Concat', 'Slice', 'Split', 'Pad', 'Tile', 'Expand', 'Reshape')
    if op == 'Transpose':
        return g.add(op, [x], perm=[int(each) for each in g.random.permutation(array.ndim)])
    if op == 'Flatten':
        return g.add(op, [x], axis=axis)
    if op == 'Unsqueeze':
        return g.add(op, [x, g.ints(axis)])
    if op == 'Concat':
        return g.add(op, [x, g.constant(g.data(array.dtype.type, array.shape)), x], axis=axis)
    if op == 'Slice':
        step = g.one_of(1, 1, 2, -1)
        ends = (0, 2**63 - 1) if step > 0 else (-1, -(2**63))
        return g.add(op, [x, g.ints(ends[0] if g.below(2) else g.below(array.shape[axis] + 1)), g.ints(ends[1]), g.ints(axis), g.ints(step)])
    if op == 'Split':
        size = array.shape[axis]
        return size > 1 and g.add(op, [x, g.ints(1, size - 1)], 2, axis=axis)
    if op == 'Pad':
        return g.add(op, [x, g.ints(*[g.below(2) for _ in range(2 * array.ndim)]), g.constant(g.data(array.dtype.type, []))])
    if op == 'Tile':
        return g.add(op, [x, g.ints(*[1 + g.below(2) for _ in array.shape])])
    if op == 'Expand':
        return g.add(op, [x, g.ints(1 + g.below(3), *array.shape)])
    return g.add(op, [x, g.ints(-1, *array.shape[:axis])])


STEPS = [
    (unary, 8), (binary, 8), (reduction, 4), (places, 4), (rows, 4), (image, 5), (cast, 3), (clip, 2), (where, 2), (logic, 1),
    (gather, 2), (scatter, 3), (moved, 4),
]
WEIGHTED = [step for step, times in STEPS for _ in range(times)]


def draw(seed, is_special):
    """A graph of one to ten nodes with onnxruntime's result for each."""
    g = Graph(seed, is_special)
    for _ in range(1 + g.below(3)):
        g.add_input()
    wanted = 1 + g.below(10)
    for _ in range(60):
        if len(g.nodes) >= wanted:
            break
        g.one_of(*WEIGHTED)(g)
    if not g.nodes:
        g.add('Identity', [next(iter(g.feeds))])
    # Removes constants of rejected nodes.
    read = {name for node in g.nodes for name in node.input}
    g.constants = {name: array for name, array in g.constants.items() if name in read}
    return g
