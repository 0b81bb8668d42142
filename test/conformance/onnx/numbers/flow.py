# Random nodes for draw.py that compute shapes, branch, or repeat.
import numpy as np
from onnx import TensorProto, helper

from graphs import MAX_ELEMENTS
from steps import is_float

UNARY = ('Relu', 'Neg', 'Tanh', 'Sigmoid', 'Abs', 'Identity')


def open_value(name, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, None)


def sizes_of(g, x):
    """The name of a new value: the shape of x."""
    return g.nodes[-1].output[0] if g.add('Shape', [x]) else None


def shaped(g):
    """Reshapes, expansions and fills by sizes that the graph computes."""
    x = g.pick(lambda array: is_float(array) and 0 < array.ndim < 5 and 0 not in array.shape)
    if x is None:
        return False
    rank = g.known()[x].ndim
    sizes = sizes_of(g, x)
    axis = g.below(rank)
    op = g.one_of('Reshape', 'Expand', 'ConstantOfShape', 'Range', 'Slice', 'Tile')
    if not g.add('Gather', [sizes, g.ints(axis)]):
        return False
    one = g.nodes[-1].output[0]
    if op == 'Reshape':
        g.add('Concat', [one, g.ints(-1)], axis=0)
        return g.add('Reshape', [x, g.nodes[-1].output[0]])
    if op == 'Expand':
        g.add('Concat', [g.ints(2), sizes], axis=0)
        return g.add('Expand', [x, g.nodes[-1].output[0]])
    if op == 'ConstantOfShape':
        return g.add(op, [sizes], value=helper.make_tensor('value', TensorProto.FLOAT, [1], [1.5]))
    if op == 'Range':
        g.add('Squeeze', [one])
        last = g.nodes[-1].output[0]
        return g.add(op, [g.constant(np.int64(0)), last, g.constant(np.int64(1 + g.below(2)))])
    if op == 'Tile':
        g.add('Sub', [one, g.ints(g.known()[x].shape[axis] - 1)])
        return g.add(op, [x, g.nodes[-1].output[0]]) if rank == 1 else False
    g.add('Sub', [one, g.ints(1)])
    return g.add('Slice', [x, g.ints(0), g.nodes[-1].output[0], g.ints(axis)])


def condition(g):
    """A single boolean: an input, a constant, or a computed one."""
    kind = g.below(3)
    if kind == 0:
        return g.feed(np.array(g.random.random() < 0.5))
    if kind == 1:
        return g.constant(np.array(g.random.random() < 0.5))
    x = g.pick(lambda array: is_float(array) and array.size and np.isfinite(array).all())
    if x is None or not g.add('ReduceMax', [x], keepdims=0):
        return None
    most = g.nodes[-1].output[0]
    return g.nodes[-1].output[0] if g.add('Greater', [most, g.constant(np.float32(g.below(3)))]) else None


def branch(g):
    x = g.pick(is_float)
    chosen = condition(g) if x else None
    if chosen is None:
        return False
    arms = {}
    for arm in ('then_branch', 'else_branch'):
        first, last = g.name('b'), g.name('b')
        nodes = [helper.make_node(g.one_of(*UNARY), [x], [first])]
        nodes.append(helper.make_node('Mul', [first, x], [last]) if g.below(2) else helper.make_node('Tanh', [first], [last]))
        arms[arm] = helper.make_graph(nodes, arm, [], [open_value(last)])
    return g.add('If', [chosen], **arms)


def repeated(g):
    """A loop over a carried value, which stacks what it computes at each step."""
    x = g.pick(lambda array: is_float(array) and array.size < MAX_ELEMENTS // 8)
    if x is None:
        return False
    step, go, held, out, made, stacked = (g.name('b') for _ in range(6))
    nodes = [
        helper.make_node('Identity', [go], [out]),
        helper.make_node('Tanh', [held], [made]),
        helper.make_node('Add', [made, x], [stacked]),
    ]
    body = helper.make_graph(
        nodes, 'body',
        [helper.make_tensor_value_info(step, TensorProto.INT64, []), helper.make_tensor_value_info(go, TensorProto.BOOL, []), open_value(held)],
        [helper.make_tensor_value_info(out, TensorProto.BOOL, []), open_value(made), helper.make_tensor_value_info(stacked, TensorProto.FLOAT, g.known()[x].shape)],
    )
    count = g.constant(np.int64(g.below(4))) if g.below(2) else g.feed(np.array(g.below(4), np.int64))
    return g.add('Loop', [count, g.constant(np.array(True)), x], 2, body=body)


def scanned(g):
    x = g.pick(lambda array: is_float(array) and array.ndim >= 1 and 0 not in array.shape)
    if x is None:
        return False
    shape = g.known()[x].shape
    held, row, made, stacked = (g.name('b') for _ in range(4))
    nodes = [helper.make_node('Add', [held, row], [made]), helper.make_node('Relu', [made], [stacked])]
    body = helper.make_graph(nodes, 'body', [open_value(held), open_value(row)], [open_value(made), open_value(stacked)])
    start = g.constant(g.data(np.float32, shape[1:]))
    return g.add('Scan', [start, x], 2, body=body, num_scan_inputs=1, scan_input_directions=[g.below(2)], scan_output_directions=[g.below(2)])
