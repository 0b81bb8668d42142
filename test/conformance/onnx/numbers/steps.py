# Random nodes for draw.py: elementwise functions, reductions, products, images, gathers, scatters and moves. Each function takes
# a graph and returns whether it added a node.
import numpy as np
from onnx import helper

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
        # The processor traps on it.
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
