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

from graphs import Graph, draw, session_of

warnings.filterwarnings('ignore')
HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {'float32': 'f32', 'float64': 'f64', 'int32': 'i32', 'int64': 'i64', 'bool': 'bool', 'uint8': 'u8', 'int8': 'i8'}
NUMPY = {name: np.dtype(dtype) for dtype, name in DTYPES.items()}
# Operators that sum: their results may differ by a rounding error of the largest result.
SUMS = {
    'MatMul', 'Gemm', 'Conv', 'ConvTranspose', 'ReduceSum', 'ReduceMean', 'ReduceL1', 'ReduceL2', 'ReduceSumSquare',
    'ReduceLogSumExp', 'ReduceLogSum', 'ReduceProd', 'Softmax', 'LogSoftmax', 'LayerNormalization',
    'InstanceNormalization', 'BatchNormalization', 'AveragePool', 'GlobalAveragePool', 'CumSum', 'Resize', 'Einsum',
}


def packed(name, array):
    return {
        'name': name, 'dtype': DTYPES[str(array.dtype)], 'dims': list(np.shape(array)),
        'data': base64.b64encode(array.tobytes()).decode(),
    }


def unpacked(tensor):
    return np.frombuffer(base64.b64decode(tensor['data']), NUMPY[tensor['dtype']]).reshape(tensor['dims'])


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
    if op == 'Cast' and inputs[0].dtype.kind == 'f' and ours.dtype.kind == 'i':
        return 'of NaN, or to i32 of what is too large'
    if op == 'MaxPool' and special:
        return 'MaxPool with NaN or -infinity'
    if op in ('ReduceMax', 'ReduceMin', 'GlobalMaxPool') and special:
        return 'ReduceMax, ReduceMin, GlobalMaxPool with NaN'
    if op in ('ArgMax', 'ArgMin', 'ScatterND', 'ScatterElements', 'Resize') and special:
        return f'{op} with NaN or infinity'
    if op in SUMS and near_end(inputs, ours, theirs):
        return 'sums at the ends of f32'
    return None


def alone(node, values, opset):
    """onnxruntime's outputs of one node."""
    given = {name: values[name] for name in node.input if name}
    return session_of(node, given, opset).run(None, given)


def referenced(node, values, opset):
    given = {name: values[name] for name in node.input if name}
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
    if exact.shape != ours.shape or not (np.isfinite(exact).all() and np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return False
    return bool(np.abs(ours - exact).max() <= 2 * np.abs(theirs - exact).max() + 1e-6)


def judge(graph: Graph, made, tally, faults, label):
    """The first node whose own outputs differ; True if there is none."""
    values = {**graph.constants, **graph.feeds, **made}
    for node in graph.nodes:
        inputs = [values[name] for name in node.input if name]
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
                where = np.argwhere(~np.isclose(made[name].astype(float), theirs.astype(float), rtol=5e-5, atol=1e-6, equal_nan=True))
                first = tuple(where[0]) if len(where) else ()
                faults.append(f'{label} {node.op_type} {name}{list(first)}: ours {made[name][first]}, onnxruntime {theirs[first]}')
                tally['WITHOUT A REASON'] += 1
            else:
                tally[f'{node.op_type}: {why}'] += 1
            return False
    return True


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
    parser.add_argument('--batch', type=int, default=500)
    options = parser.parse_args()
    counts, refusals, tally, ops = (collections.Counter() for _ in range(4))
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, options.graphs, options.batch):
            seeds = range(first, min(options.graphs, first + options.batch))
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
                        tally['roundings that later nodes enlarge'] += 1
                        if not is_equal(array, made[name], 'MatMul') and array.dtype.kind != 'f':
                            tally['of them whole numbers'] += 1
                        same = False
                counts['equal' if same else 'different'] += 1
            print(first + len(graphs), dict(counts), f'{len(faults)} without a reason', flush=True)
    print('onnx', onnx.__version__, 'onnxruntime', onnxruntime.__version__)
    for title, counter in (('operators', ops), ('refused', refusals), ('different', tally)):
        print(title + ':')
        for key, count in counter.most_common():
            print(f'  {count:6} {key}')
    print('without a reason:')
    for fault in faults:
        print('  ', fault)
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
