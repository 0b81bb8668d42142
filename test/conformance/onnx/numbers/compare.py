# Random graphs, a third of them with special numbers, computed by a network and by onnxruntime. In: a number
# of graphs, a seed. Out: how many are equal, rejected or different, and why, with every unexplained
# difference.
#
#   python test/conformance/onnx/numbers/compare.py --graphs 10000 --seed 1
#
# It needs numpy, onnx and onnxruntime. A node that differs is computed again by onnxruntime from the
# network's own inputs, so that earlier rounding does not count as a difference, and then by the standard's
# reference.
import argparse
import base64
import collections
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from draw import draw
from graphs import Graph, reads_of, session_of

warnings.filterwarnings('ignore')
HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {
    'float32': 'f32', 'float64': 'f64', 'float16': 'f16', 'int32': 'i32', 'int64': 'i64', 'bool': 'bool', 'uint8': 'u8', 'int8': 'i8',
    'int16': 'i16', 'uint16': 'u16', 'uint32': 'u32', 'uint64': 'u64',
}
NUMPY = {name: np.dtype(dtype) for dtype, name in DTYPES.items()}
# Operators that sum: their results may differ by a rounding error of the largest result.
SUMS = {
    'MatMul', 'Gemm', 'Conv', 'ConvTranspose', 'ReduceSum', 'ReduceMean', 'ReduceL1', 'ReduceL2', 'ReduceSumSquare',
    'ReduceLogSumExp', 'ReduceLogSum', 'ReduceProd', 'Softmax', 'LogSoftmax', 'LayerNormalization',
    'InstanceNormalization', 'BatchNormalization', 'AveragePool', 'GlobalAveragePool', 'CumSum', 'Resize', 'Einsum', 'LpNormalization',
    'GroupNormalization', 'MeanVarianceNormalization', 'SkipLayerNormalization', 'LRN', 'LpPool', 'LSTM', 'GRU', 'RNN', 'GridSample',
}


NORMS = {'LayerNormalization', 'InstanceNormalization', 'GroupNormalization'}


def packed(name, array):
    return {
        'name': name, 'dtype': DTYPES[str(array.dtype)], 'dims': list(np.shape(array)),
        'data': base64.b64encode(array.astype(np.float32 if array.dtype == np.float16 else array.dtype).tobytes()).decode(),
    }


def unpacked(tensor):
    stored = np.float32 if tensor['dtype'] == 'f16' else NUMPY[tensor['dtype']]
    return np.frombuffer(base64.b64decode(tensor['data']), stored).astype(NUMPY[tensor['dtype']]).reshape(tensor['dims'])


def is_equal(ours, theirs, op):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if theirs.dtype.kind != 'f':
        return bool((ours == theirs).all())
    with np.errstate(all='ignore'):
        finite = np.abs(theirs[np.isfinite(theirs)].astype(np.float64))
        peak = finite.max() if finite.size else 0
        # f64 is computed as f32.
        least = 1e-5 * peak if op in SUMS else 1e-6
        return bool(np.isclose(ours.astype(float), theirs.astype(float), rtol=5e-5, atol=max(1e-6, least), equal_nan=True).all())


def has_special(arrays):
    return any(array.dtype.kind == 'f' and not np.isfinite(array).all() for array in arrays)


def near_end(arrays, ours, theirs):
    """Whether a sum of these numbers, in some order, is infinite, or a result is one of the largest of f32."""
    largest = [np.abs(each[np.isfinite(each)].astype(np.float64)).max(initial=0) for each in arrays if each.dtype.kind == 'f']
    return max(largest, default=0) > 1e18 or any(np.isinf(each).any() for each in (ours, theirs))


def reason(node, inputs, ours, theirs):
    """The line of the guide, docs/guide/networks.md, that describes this difference from onnxruntime."""
    op = node.op_type
    special = has_special(inputs)
    if any(each.dtype == np.float64 for each in (*inputs, ours)):
        return 'f64 is computed as f32'
    if any(each.dtype == np.float16 for each in (*inputs, ours)):
        return 'f16 is rounded once'
    if op == 'Cast' and inputs[0].dtype.kind == 'f' and ours.dtype.kind in 'iu':
        return 'of NaN, or of what is outside the range of the integers'
    if op == 'Pow' and ours.dtype.kind == 'i' and (ours == whole_powers(*inputs).astype(ours.dtype)).all():
        return 'powers of integers wrap'
    if op in ('ReduceLogSum', 'ReduceLogSumExp') and ours.dtype.kind == 'i' and is_log(node, inputs, ours):
        return 'logarithms of integers'
    if op == 'MeanVarianceNormalization' and is_centred(node, inputs[0], ours):
        return 'MeanVarianceNormalization of nearly equal numbers'
    if op == 'DynamicQuantizeLinear' and not inputs[0].size:
        return 'DynamicQuantizeLinear of nothing'
    if op in ('QuantizeLinear', 'DynamicQuantizeLinear') and special:
        return f'{op} with NaN or infinity'
    if op in ('LSTM', 'GRU', 'RNN', 'LRN', 'Unique') and special:
        return f'{op} with NaN or infinity'
    if op == 'MaxPool' and special:
        return 'MaxPool with NaN or -infinity'
    if op in ('ReduceMax', 'ReduceMin', 'GlobalMaxPool') and special:
        return 'ReduceMax, ReduceMin, GlobalMaxPool with NaN'
    if op in ('ArgMax', 'ArgMin', 'ScatterND', 'ScatterElements', 'Resize') and special:
        return f'{op} with NaN or infinity'
    if op in SUMS | {'Pow'} and near_end(inputs, ours, theirs):
        return 'sums at the ends of f32'
    return None


def whole_powers(base, exponent):
    """Exact powers, which wrap; those of 0 and the fractions are 0."""
    base, exponent = np.broadcast_arrays(base, exponent)
    if exponent.dtype.kind == 'f' or base.dtype.kind == 'f':
        return np.zeros(base.shape)
    bits = 8 * base.dtype.itemsize
    made = []
    for x, y in zip(base.ravel().tolist(), exponent.ravel().tolist()):
        power = pow(x, y, 2**bits) if y >= 0 else (x ** -(y % 2) if x in (1, -1) else 0)
        power = int(power) % 2**bits
        made.append(power - 2**bits if power >= 2 ** (bits - 1) else power)
    return np.array(made, object).reshape(base.shape)


def stated(node, name, default=None):
    found = [helper.get_attribute_value(each) for each in node.attribute if each.name == name]
    return found[0] if found else default


def is_log(node, inputs, ours):
    """Whether these are logarithms in f64 without their fractions, and 0 for those that are infinite or NaN."""
    wide = inputs[0].astype(np.float64)
    axes = inputs[1].tolist() if len(inputs) > 1 else stated(node, 'axes')
    axes = tuple(axes) if axes else None
    with np.errstate(all='ignore'):
        if node.op_type == 'ReduceLogSum':
            due = np.log(wide.sum(axes))
        else:
            if not wide.size:
                return True
            most = wide.max(axes, keepdims=True)
            due = np.log(np.exp(wide - most).sum(axes)) + wide.max(axes)
        whole = np.where(np.isfinite(due), np.trunc(due), 0).ravel()
    least = np.iinfo(ours.dtype).min
    # Rounding may move a logarithm over a whole number. The logarithm of 0 is the lowest number, or 0 if it has 32 bits.
    near = np.abs(due.ravel() - np.rint(due.ravel())) < 1e-6
    return bool(((np.abs(whole - ours.ravel()) <= near) | (np.isneginf(due.ravel()) & (ours.ravel() == least))).all())


def is_centred(node, x, ours):
    if not x.size:
        return True
    axes = tuple(stated(node, 'axes', (0, 2, 3)))
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axes, keepdims=True)
    due = centred / (np.sqrt((centred**2).mean(axes, keepdims=True)) + 1e-9)
    # Groups that differ by less than the last digit of f32.
    flat = np.abs(centred).max(axes, keepdims=True) <= 2e-7 * np.abs(wide).max(axes, keepdims=True)
    return bool(((np.abs(ours - due) <= 1e-4) | flat | (np.isnan(ours) & np.isnan(due))).all())


def alone(node, values, opset):
    """onnxruntime's outputs of one node."""
    given = {name: values[name] for name in reads_of(node)}
    return session_of(node, given, opset).run(None, given)


def local_norm(node, x):
    """LRN; the standard's reference fails for few channels."""
    size, alpha, beta = (stated(node, name) for name in ('size', 'alpha', 'beta'))
    wide = np.asarray(x, np.float64)
    squares = np.zeros_like(wide)
    for channel in range(x.shape[1]):
        first, last = max(0, channel - (size - 1) // 2), min(x.shape[1], channel + size // 2 + 1)
        squares[:, channel] = (wide[:, first:last] ** 2).sum(1)
    return [(wide / (stated(node, 'bias', 1.0) + alpha / size * squares) ** beta).astype(x.dtype)]


def referenced(node, values, opset):
    if node.op_type == 'LRN':
        return local_norm(node, values[node.input[0]])
    given = {name: values[name] for name in reads_of(node)}
    graph = helper.make_graph(
        [node], 'one',
        [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in given.items()],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)])
    return ReferenceEvaluator(model).run(None, given)


def is_as_near(node, values, opset, at, ours, theirs):
    """Whether a result in f32 is about as close to the result in f64 as onnxruntime's is, so that both are rounded."""
    if node.op_type not in SUMS:
        return False
    wide = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in values.items()}
    exact = np.asarray(referenced(node, wide, opset)[at], np.float64)
    finite = np.isfinite(exact) & np.isfinite(ours) & np.isfinite(theirs) if exact.shape == ours.shape else None
    if finite is None or not (finite == np.isfinite(ours)).all() or not finite.any():
        return False
    least = 1e-6
    if node.op_type in NORMS:
        # The last digit of a mean, divided by the smallest deviation, is all that equal numbers leave.
        scale = np.abs(values[node.input[1]]).max(initial=0)
        least += 2.0**-23 * peak(node, values) * scale / np.sqrt(stated(node, 'epsilon', 1e-5))
    return bool(np.abs(ours - exact)[finite].max() <= 4 * np.abs(theirs - exact)[finite].max() + least)


def judge(graph: Graph, made, tally, faults, label):
    """The first node whose own outputs differ; True if there is none."""
    values = {**graph.constants, **graph.feeds, **made}
    for node in graph.nodes:
        inputs = [values[name] for name in reads_of(node)]
        for at, name in enumerate(node.output):
            if name not in made or is_equal(made[name], graph.values[name], node.op_type):
                continue
            try:
                theirs = alone(node, values, graph.opset)[at]
            except Exception:
                tally[f'{node.op_type}: onnxruntime refuses these inputs'] += 1
                return False
            if is_equal(made[name], theirs, node.op_type):
                continue
            try:
                reference = np.asarray(referenced(node, values, graph.opset)[at])
                if is_equal(made[name], reference.astype(made[name].dtype), node.op_type):
                    tally[f'{node.op_type}: as the reference'] += 1
                    return False
                if is_as_near(node, values, graph.opset, at, made[name], theirs):
                    tally[f'{node.op_type}: as near to f64 as onnxruntime'] += 1
                    return False
            except Exception:
                pass
            why = reason(node, inputs, made[name], theirs)
            if why is None:
                if made[name].shape != theirs.shape or made[name].dtype != theirs.dtype:
                    ours, theirs = (f'{each.dtype}{list(each.shape)}' for each in (made[name], theirs))
                    faults.append(f'{label} {node.op_type} {name}: ours {ours}, onnxruntime {theirs}')
                else:
                    where = np.argwhere(~close(made[name], theirs))
                    first = tuple(int(each) for each in where[0]) if len(where) else ()
                    faults.append(f'{label} {node.op_type} {name}{list(first)}: ours {made[name][first]}, onnxruntime {theirs[first]}')
                tally['WITHOUT A REASON'] += 1
            else:
                tally[f'{node.op_type}: {why}'] += 1
            return False
    return True


# Relative sizes of other roundings: f64 is computed as f32.
ROUNDINGS = {'float64': 2.0**-22, 'float32': 2.0**-22, 'float16': 2.0**-10}
# Functions whose results may have a few more roundings.
POWERS = ('Pow', 'Exp', 'Sinh', 'Cosh', 'Tan', 'Softplus', 'Mish', 'Gelu')
# Functions, and nodes that contain them, whose errors are absolute: at most this.
ABSOLUTE = 2.5e-7
ACTIVATED = (
    'LSTM', 'GRU', 'RNN', 'Sigmoid', 'Softmax', 'Tanh', 'Erf', 'Sin', 'Cos', 'Tan', 'Log', 'Mish', 'Gelu', 'Softplus', 'If', 'Loop',
    'ReduceLogSum', 'ReduceLogSumExp', 'LogSoftmax',
)


def rounded(array, random, least=0, times=1):
    """The values as if they had been rounded otherwise."""
    array = np.asarray(array)
    most = times * ROUNDINGS.get(str(array.dtype), 0)
    if most == 0:
        return array
    dtype = array.dtype
    with np.errstate(all='ignore'):
        near = 1 + most * (2 * random.random(array.shape) - 1)
        if least and random.random() < 0.5:
            # Numbers whose difference is less may become equal, and the smallest 0.
            array = np.rint(array / least) * least
        return np.asarray(array * near + least * (random.random() < 0.5) * (2 * random.random(array.shape) - 1), dtype)


def peak(node, values):
    """The largest finite number that a node reads."""
    floats = [values[name] for name in reads_of(node) if values[name].dtype.kind == 'f']
    return max((float(np.abs(each[np.isfinite(each)]).max(initial=0)) for each in floats), default=0)


def is_moved(graph: Graph, ends):
    """Whether outputs move when values are rounded otherwise, by at least a sixteenth of the difference from them."""
    moves = {name: np.zeros(graph.values[name].shape) for name in ends}
    random = np.random.default_rng(1)
    for _ in range(20):
        values = {
            name: rounded(array, random) if array.dtype == np.float64 else array
            for name, array in {**graph.constants, **graph.feeds}.items()
        }
        for node in graph.nodes:
            least = ABSOLUTE if node.op_type in ACTIVATED else 2.0**-23 * peak(node, values) if node.op_type in SUMS else 0
            times = 4 if node.op_type in POWERS else 1
            for name, array in zip(node.output, alone(node, values, graph.opset)):
                values[name] = rounded(array, random, least, times)
        for name, most in moves.items():
            found = distance(values[name], graph.values[name])
            moves[name] = np.inf if found is np.inf or most is np.inf else np.fmax(most, found)
    def is_explained(name, array):
        due, most = graph.values[name], moves[name]
        if most is np.inf:
            # The rounding moves its shape.
            return True
        if array.shape != due.shape:
            return False
        within = (distance(array, due) <= 16 * most) | close(array, due)
        # Sums of numbers that end f32 are infinite in one order and NaN in another.
        return bool((within | (~np.isfinite(array.astype(float)) & ~np.isfinite(due.astype(float)))).all())

    return all(is_explained(name, array) for name, array in ends.items())


def distance(a, b):
    """Infinite where only one is NaN, or for other shapes."""
    if a.shape != b.shape:
        return np.inf
    with np.errstate(all='ignore'):
        a, b = a.astype(float), b.astype(float)
        return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.where(np.isnan(a - b), np.inf, np.abs(a - b)))


def close(ours, theirs):
    return np.isclose(ours.astype(float), theirs.astype(float), rtol=5e-5, atol=1e-6, equal_nan=True)


def run(cases, folder):
    """The network's outputs, by case. `run.ts` computes them in a process that is restarted if it dies."""
    path = os.path.join(folder, 'cases.jsonl')
    with open(path, 'w') as file:
        for case in cases:
            file.write(json.dumps(case) + '\n')
    out = subprocess.run(['npx', 'node', os.path.join(HERE, 'run.ts'), path], capture_output=True, text=True, cwd=os.path.join(HERE, '../../../..'))
    found = [json.loads(line) for line in out.stdout.splitlines()]
    if len(found) != len(cases):
        sys.exit(f'the network ended after {len(found)} of {len(cases)} graphs: {out.stderr[-2000:]}')
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--graphs', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--first', type=int, default=0, help='number of the first graph')
    parser.add_argument('--batch', type=int, default=500)
    options = parser.parse_args()
    counts, refusals, tally, ops = (collections.Counter() for _ in range(4))
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        end = options.first + options.graphs
        for first in range(options.first, end, options.batch):
            seeds = range(first, min(end, first + options.batch))
            known = len(faults)
            graphs = [draw(options.seed * 1_000_003 + seed, is_special=seed % 3 == 0) for seed in seeds]
            cases = [
                {
                    'model': base64.b64encode(graph.model(is_whole)).decode(),
                    'inputs': [packed(name, array) for name, array in graph.feeds.items()],
                }
                for graph in graphs for is_whole in (False, True)
            ]
            found = iter(run(cases, folder))
            for seed, graph in zip(seeds, graphs):
                leaves, whole = next(found), next(found)
                ops.update(node.op_type for node in graph.nodes)
                if 'error' in whole or 'error' in leaves:
                    error = whole.get('error') or leaves['error']
                    counts['refused'] += 1
                    refusals[error['kind']] += 1
                    if error['code'] not in ('unsupported', 'out-of-memory', 'format'):
                        faults.append(f'{seed}: {error}')
                    continue
                made = {tensor['name']: unpacked(tensor) for tensor in whole['outputs']}
                ends = {tensor['name']: unpacked(tensor) for tensor in leaves['outputs']}
                same = judge(graph, made, tally, faults, seed)
                # Fusing numbers with the nodes that read them may change them by rounding only.
                for name, array in ends.items():
                    if same and not is_equal(array, graph.values[name], 'Softmax'):
                        same = False
                        if is_moved(graph, ends):
                            tally['roundings that later nodes enlarge'] += 1
                        else:
                            tally['WITHOUT A REASON'] += 1
                            faults.append(f'{seed}: {name} differs, which no node explains')
                counts['equal' if same else 'different'] += 1
            print(first + len(graphs), dict(counts), f'{len(faults)} without a reason', flush=True)
            for fault in faults[known:]:
                print('  ', fault[:300], flush=True)
    print('onnx', onnx.__version__, 'onnxruntime', onnxruntime.__version__)
    for title, counter in (('operators', ops), ('refused', refusals), ('different', tally)):
        print(title + ':')
        for key, count in counter.most_common():
            print(f'  {count:6} {key}')
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
