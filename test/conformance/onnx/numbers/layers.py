# Random nodes of layers for draw.py: recurrent layers, norms, pools, codes, and rare operators of images and signals.
import numpy as np
from onnx import helper

from steps import is_float, is_number, with_axes


def planes(g):
    return g.pick(lambda array: is_float(array) and array.ndim in (3, 4) and 0 not in array.shape)


def recurrent(g):
    x = g.pick(lambda array: is_float(array) and array.ndim == 3 and array.size and array.size < 400)
    if x is None:
        return False
    op, direction = g.one_of('LSTM', 'GRU', 'RNN'), g.one_of('forward', 'reverse', 'bidirectional')
    steps, batch, width = g.known()[x].shape
    count, hidden = 2 if direction == 'bidirectional' else 1, g.one_of(1, 2, 5)
    rows = hidden * {'LSTM': 4, 'GRU': 3, 'RNN': 1}[op]

    def weights(*shape):
        return g.constant((g.random.standard_normal(shape) * 0.5).astype(np.float32))

    def maybe(make):
        return make() if g.random.random() < 0.5 else ''

    inputs = [x, weights(count, rows, width), weights(count, rows, hidden), maybe(lambda: weights(count, 2 * rows))]
    inputs.append(maybe(lambda: g.constant(g.random.integers(1, steps + 1, batch).astype(np.int32))))
    inputs.append(maybe(lambda: weights(count, batch, hidden)))
    more = {'linear_before_reset': g.below(2)} if op == 'GRU' else {}
    if op == 'LSTM':
        inputs += [maybe(lambda: weights(count, batch, hidden)), maybe(lambda: weights(count, 3 * hidden))]
    if g.random.random() < 0.2:
        more['clip'] = 0.5
    return g.add(op, inputs, 3 if op == 'LSTM' else 2, direction=direction, hidden_size=hidden, **more)


def norm(g):
    x = g.pick(lambda array: is_float(array) and array.ndim >= 2 and 0 not in array.shape)
    if x is None:
        return False
    array = g.known()[x]
    axis = g.below(array.ndim)

    def floats(shape):
        return g.constant(g.data(np.float32, shape))

    op = g.one_of('LpNormalization', 'LRN', 'MeanVarianceNormalization', 'LayerNormalization', 'GroupNormalization', 'SkipLayerNormalization')
    if op == 'LpNormalization':
        return g.add(op, [x], axis=axis, p=1 + g.below(2))
    if op == 'LRN':
        return g.add(op, [x], size=g.one_of(1, 3, 5), alpha=0.1, beta=0.75, bias=1.0)
    if op == 'MeanVarianceNormalization':
        return g.add(op, [x], axes=sorted({axis, g.below(array.ndim)}))
    if op == 'LayerNormalization':
        shape = array.shape[axis:]
        return g.add(op, [x, floats(shape)] + ([floats(shape)] if g.below(2) else []), axis=axis, epsilon=1e-3)
    if op == 'GroupNormalization':
        groups = g.one_of(*[each for each in (1, 2, 3, 4) if array.shape[1] % each == 0])
        channels = [array.shape[1] if g.opset >= 21 else groups]
        return g.add(op, [x, floats(channels), floats(channels)], num_groups=groups, epsilon=1e-2)
    last = [array.shape[-1]]
    return g.add(op, [x, x, floats(last), floats(last)], domain='com.microsoft', epsilon=1e-3) if array.ndim == 3 else False


def window(g):
    x = planes(g)
    if x is None:
        return False
    array = g.known()[x]
    rank = array.ndim - 2
    kernel = [1 + g.below(min(3, size)) for size in array.shape[2:]]
    form = {'kernel_shape': kernel, 'strides': [1 + g.below(3) for _ in range(rank)], 'ceil_mode': g.below(2)}
    form['pads'] = [g.below(size) for size in kernel * 2]
    if g.random.random() < 0.2:
        del form['pads']
        form['auto_pad'] = g.one_of('SAME_UPPER', 'SAME_LOWER', 'VALID')
    dilations = [1 + g.below(2) for _ in range(rank)] if 'pads' in form else [1] * rank
    op = g.one_of('MaxPool', 'AveragePool', 'LpPool', 'ConvTranspose', 'Conv', 'Conv')
    if op == 'MaxPool':
        return g.add(op, [x], 1 + g.below(2), dilations=dilations, **form)
    if op == 'AveragePool':
        return g.add(op, [x], count_include_pad=g.below(2), **form)
    if op == 'LpPool':
        return g.add(op, [x], p=1 + g.below(2), **form)
    del form['ceil_mode']
    channels = array.shape[1]
    groups = g.one_of(*[each for each in (1, 2, channels) if channels % each == 0])
    bias = g.below(2)
    if op == 'Conv':
        own = groups * (1 + g.below(4))
        filters = g.constant(g.data(np.float32, [own, channels // groups, *kernel]))
        return g.add(op, [x, filters] + [g.constant(g.data(np.float32, [own]))] * bias, group=groups, **form)
    own = 1 + g.below(3)
    filters = g.constant(g.data(np.float32, [channels, own, *kernel]))
    more = {'output_padding': [g.below(stride) for stride in form['strides']]} if g.below(3) == 0 else {}
    return g.add(op, [x, filters] + [g.constant(g.data(np.float32, [own * groups]))] * bias, group=groups, **form, **more)


def scale_of(g, shape=()):
    return g.constant((0.02 + g.random.random(shape)).astype(np.float32))


def codes(g):
    op = g.one_of('QuantizeLinear', 'DequantizeLinear', 'DynamicQuantizeLinear', 'MatMulInteger', 'QLinearMatMul', 'ConvInteger', 'QLinearConv')
    if op in ('QuantizeLinear', 'DynamicQuantizeLinear'):
        # A discontinuous function of inputs, because roundings before it may move a code.
        x = g.pick(is_float)
        if x is None:
            return False
        if op == 'DynamicQuantizeLinear':
            return g.add(op, [x], 3)
        array, dtype = g.known()[x], g.one_of(np.uint8, np.int8)
        shape = [array.shape[-1]] if array.ndim and g.below(2) else []
        zero = g.constant(g.random.integers(0, 100, shape).astype(dtype))
        return g.add(op, [x, scale_of(g, shape), zero], axis=array.ndim - 1 if shape else 1)
    x = g.pick(lambda array: array.dtype in (np.uint8, np.int8) and array.ndim > 0 and 0 not in array.shape)
    if x is None:
        return False
    array = g.known()[x]
    zero = g.constant(array.dtype.type(g.below(100)))
    if op == 'DequantizeLinear':
        return g.add(op, [x, scale_of(g), zero])
    dtype = g.one_of(np.uint8, np.int8)
    own = g.constant(dtype(g.below(100)))
    if op in ('MatMulInteger', 'QLinearMatMul'):
        matrix = g.constant(g.data(dtype, [array.shape[-1], 1 + g.below(6)]))
        if op == 'MatMulInteger':
            return g.add(op, [x, matrix, zero, own])
        return g.add(op, [x, scale_of(g), zero, matrix, scale_of(g), own, scale_of(g), g.constant(array.dtype.type(3))])
    if array.ndim != 4:
        return False
    kernel = [1 + g.below(min(3, size)) for size in array.shape[2:]]
    filters = g.constant(g.data(dtype, [1 + g.below(3), array.shape[1], *kernel]))
    if op == 'ConvInteger':
        return g.add(op, [x, filters, zero, own], pads=[1, 0, 1, 0])
    return g.add(op, [x, scale_of(g), zero, filters, scale_of(g), own, scale_of(g), g.constant(array.dtype.type(3))])


def picked(g):
    """Elements chosen by indices or conditions."""
    x, axis = with_axes(g, lambda array: is_number(array) and 0 not in array.shape)
    if x is None:
        return False
    array = g.known()[x]
    op = g.one_of('GatherElements', 'GatherND', 'Trilu', 'OneHot', 'NonZero', 'Compress', 'Unique', 'ReverseSequence', 'EyeLike')
    if op == 'GatherElements':
        shape = [1 + g.below(size) for size in array.shape]
        size = array.shape[axis]
        return g.add(op, [x, g.constant(g.random.integers(-size, size, shape).astype(np.int64))], axis=axis)
    if op == 'GatherND':
        depth = 1 + g.below(array.ndim)
        index = np.stack([g.random.integers(-size, size, [3]) for size in array.shape[:depth]], -1).astype(np.int64)
        return g.add(op, [x, g.constant(index)])
    if op == 'Trilu':
        return g.add(op, [x, g.constant(np.int64(g.below(5) - 2))], upper=g.below(2))
    if op == 'OneHot':
        index = g.pick(lambda array: array.dtype == np.int64 and array.ndim < 4)
        return index is not None and g.add(op, [index, g.ints(5), g.constant(g.data(array.dtype.type, [2]))], axis=g.one_of(0, -1))
    if op == 'Compress':
        return g.add(op, [x, g.constant(g.random.random([array.shape[axis]]) < 0.5)], axis=axis)
    if op == 'Unique':
        return g.add(op, [x], 4, sorted=g.below(2))
    if op == 'ReverseSequence':
        if array.ndim < 2:
            return False
        time = g.below(2)
        lengths = g.random.integers(1, array.shape[time] + 1, array.shape[1 - time]).astype(np.int64)
        return g.add(op, [x, g.constant(lengths)], time_axis=time, batch_axis=1 - time)
    if op == 'EyeLike':
        return g.add(op, [x], k=g.below(3) - 1)
    return g.add(op, [x])


def products(g):
    x = g.pick(lambda array: is_float(array) and array.ndim >= 2 and 0 not in array.shape)
    if x is None:
        return False
    array = g.known()[x]
    op = g.one_of('MatMul', 'Gemm', 'Einsum')
    if op == 'MatMul':
        y = g.pick(lambda other: is_float(other) and other.ndim >= 2 and other.shape[-2] == array.shape[-1])
        return y is not None and g.add(op, [x, y])
    if op == 'Gemm':
        by = {'transA': g.below(2), 'transB': g.below(2)}
        inner = array.shape[0] if by['transA'] else array.shape[-1]
        shape = [1 + g.below(6), inner] if by['transB'] else [inner, 1 + g.below(6)]
        return array.ndim == 2 and g.add(op, [x, g.constant(g.data(np.float32, shape))], **by)
    letters = 'abcde'[: array.ndim]
    other = g.constant(g.data(np.float32, [array.shape[0], array.shape[-1], 3]))
    equation = f'{letters},a{letters[-1]}n->{g.one_of("an", "na", letters[:-1] + "n", "n")}'
    return g.add(op, [x, other], equation=equation)


def rearranged(g):
    x = g.pick(lambda array: is_float(array) and array.ndim == 4 and 0 not in array.shape)
    if x is None:
        return False
    array = g.known()[x]
    op = g.one_of('DepthToSpace', 'SpaceToDepth', 'GridSample', 'Resize')
    if op == 'DepthToSpace':
        return array.shape[1] % 4 == 0 and g.add(op, [x], blocksize=2, mode=g.one_of('DCR', 'CRD'))
    if op == 'SpaceToDepth':
        return g.add(op, [x], blocksize=2)
    if op == 'GridSample':
        grid = g.constant((g.random.random([array.shape[0], 3, 2, 2]) * 2.4 - 1.2).astype(np.float32))
        modes = ('linear', 'nearest', 'cubic') if g.opset >= 20 else ('bilinear', 'nearest', 'bicubic')
        return g.add(op, [x, grid], mode=g.one_of(*modes), padding_mode=g.one_of('zeros', 'border', 'reflection'), align_corners=g.below(2))
    scales = g.constant(np.array([1, 1, g.one_of(0.5, 2, 1.5), g.one_of(0.7, 3, 1)], np.float32))
    by = {'antialias': g.below(2)} if g.opset >= 18 else {}
    by['nearest_mode'] = g.one_of('floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil')
    return g.add(op, [x, '', scales], mode=g.one_of('nearest', 'linear', 'cubic'), coordinate_transformation_mode=g.one_of(
        'half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel'), **by)


SMALL = (np.uint8, np.int8, np.int16, np.uint16, np.uint32, np.uint64, np.float16)


def small(g):
    """Casts to and from narrow and unsigned types, and what is computed with them."""
    x = g.pick(lambda array: array.dtype.type in SMALL)
    if x is None or g.below(3) == 0:
        x = g.pick()
        return g.add('Cast', [x], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(g.one_of(*SMALL)))))
    dtype = g.known()[x].dtype.type
    other = g.constant(g.data(dtype, [])) if g.below(2) else x
    op = g.one_of('Cast', 'Add', 'Sub', 'Mul', 'Min', 'Max', 'Equal', 'Less', 'BitwiseAnd', 'BitwiseXor', 'BitwiseNot', 'BitShift', 'Abs', 'Sign')
    if op == 'Cast':
        return g.add(op, [x], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(g.one_of(np.float32, np.int64, np.int32, np.bool_)))))
    if op in ('BitwiseNot', 'Abs', 'Sign'):
        return g.add(op, [x])
    if op == 'BitShift':
        bits = g.constant(dtype(g.below(4))) if dtype != np.float16 else other
        return g.add(op, [x, bits], direction=g.one_of('LEFT', 'RIGHT'))
    return g.add(op, [x, other])
