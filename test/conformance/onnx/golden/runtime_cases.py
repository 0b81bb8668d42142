"""Cases of operators that the node tests of the standard lack. In: nothing. Out: runtime-cases.jsonl beside this file:
a model, inputs, and the outputs of ONNX Runtime on the CPU, a case per line.

Run with onnx 1.23.1 and onnxruntime 1.30.0: python runtime_cases.py
The cases of `levels` and `convolution` were made alone, with onnx 1.19.0 and onnxruntime 1.32.0, and those of `padding`
with onnx 1.23.2 and onnxruntime 1.32.0.
"""
import base64
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = 'com.microsoft'
random = np.random.default_rng(19)
lines = []


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def case(name, op, inputs, outputs=1, domain=MICROSOFT, opset=21, **attributes):
    """`outputs`: a count, or a list of booleans that says which outputs are wanted."""
    wanted = [True] * outputs if isinstance(outputs, int) else outputs
    given = [(f'x{at}', value) for at, value in enumerate(inputs) if value is not None]
    node = helper.make_node(
        op,
        [f'x{at}' if value is not None else '' for at, value in enumerate(inputs)],
        [f'y{at}' if is_wanted else '' for at, is_wanted in enumerate(wanted)],
        name=name,
        domain=domain,
        **attributes,
    )
    # NumPy has no integers of four bits: these are constants of the model.
    constants = [value for _, value in given if isinstance(value, onnx.TensorProto)]
    protos = {key: numpy_helper.from_array(value, key) for key, value in given if not isinstance(value, onnx.TensorProto)}
    graph = helper.make_graph(
        [node],
        name,
        [helper.make_tensor_value_info(key, proto.data_type, list(proto.dims)) for key, proto in protos.items()],
        [onnx.ValueInfoProto(name=f'y{at}') for at, is_wanted in enumerate(wanted) if is_wanted],
        constants,
    )
    imports = [helper.make_opsetid('', opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])
    for at, output in enumerate(session.get_outputs()):
        dtype = TensorProto.DataType.Value({'tensor(float)': 'FLOAT', 'tensor(bool)': 'BOOL', 'tensor(int32)': 'INT32',
                                            'tensor(float16)': 'FLOAT16'}[output.type])
        model.graph.output[at].CopyFrom(helper.make_tensor_value_info(output.name, dtype, None))
    made = session.run(None, {key: numpy_helper.to_array(proto) for key, proto in protos.items()})
    encode = lambda data: base64.b64encode(data).decode()
    lines.append(json.dumps({
        'name': name,
        'model': encode(model.SerializeToString()),
        'sets': [{
            'inputs': [encode(proto.SerializeToString()) for proto in protos.values()],
            'outputs': [encode(numpy_helper.from_array(value).SerializeToString()) for value in made],
        }],
    }))


def bytes_of(*shape):
    return random.integers(0, 256, shape).astype(np.uint8)


def elementwise():
    a, b = random.integers(0, 2, (3, 4)).astype(bool), random.integers(0, 2, (4,)).astype(bool)
    case('and', 'And', [a, b], domain='')
    case('xor', 'Xor', [a, b], domain='')
    case('not', 'Not', [a], domain='')
    # The node tests of these are large.
    case('erf', 'Erf', [floats(3, 4)], domain='')
    case('mish', 'Mish', [floats(3, 4)], domain='')
    case('tile', 'Tile', [floats(2, 3), np.array([2, 2], np.int64)], domain='')


def activations():
    x, bias = floats(2, 3, 8), floats(8)
    case('gelu', 'Gelu', [x])
    case('fast_gelu', 'FastGelu', [x])
    case('fast_gelu_bias', 'FastGelu', [x, bias])
    case('bias_gelu', 'BiasGelu', [x, bias])
    case('quick_gelu', 'QuickGelu', [x])
    case('quick_gelu_alpha', 'QuickGelu', [x], alpha=1.0)


def norms():
    x, skip, gamma, beta, bias = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)
    sums = [True, False, False, True]
    case('simplified_layer_norm', 'SimplifiedLayerNormalization', [x, gamma], domain='', axis=-1, epsilon=1e-6)
    case('skip_layer_norm', 'SkipLayerNormalization', [x, skip, gamma, beta], epsilon=1e-6)
    case('skip_layer_norm_bias_sum', 'SkipLayerNormalization', [x, skip, gamma, beta, bias], sums)
    case('skip_layer_norm_no_beta', 'SkipLayerNormalization', [x, skip, gamma])
    case('skip_layer_norm_shared', 'SkipLayerNormalization', [x, floats(1, 3, 8), gamma, beta], sums)
    case('skip_simplified', 'SkipSimplifiedLayerNormalization', [x, skip, gamma], epsilon=1e-6)
    case('skip_simplified_bias_sum', 'SkipSimplifiedLayerNormalization', [x, skip, gamma, bias], sums)


def products():
    a, b = bytes_of(2, 3, 6), bytes_of(6, 5)
    # ONNX Runtime saturates sums of two products of larger integers on some machines.
    signed = random.integers(-60, 60, (6, 5)).astype(np.int8)
    case('matmul_integer', 'MatMulInteger', [a, b, np.uint8(128), np.uint8(7)], domain='')
    case('matmul_integer_columns', 'MatMulInteger', [a, signed, np.uint8(3),
                                                     random.integers(-9, 9, 5).astype(np.int8)], domain='')
    case('matmul_integer_plain', 'MatMulInteger', [a, signed], domain='')
    x, scale = floats(2, 3, 6), np.float32(0.02)
    case('dynamic_quantize_matmul', 'DynamicQuantizeMatMul', [x, b, scale.reshape(1), np.array([130], np.uint8)])
    case('dynamic_quantize_matmul_columns', 'DynamicQuantizeMatMul',
         [x, signed, np.abs(floats(5)) / 50, None, floats(5)])
    case('matmul_integer_to_float', 'MatMulIntegerToFloat',
         [a, b, scale.reshape(1), np.abs(floats(5)) / 50, np.array([120], np.uint8), np.array([130], np.uint8),
          floats(5)])
    case('fused_matmul', 'FusedMatMul', [floats(2, 6, 3), floats(2, 5, 6)], transA=1, transB=1, alpha=0.5)
    case('fused_matmul_plain', 'FusedMatMul', [floats(3, 6), floats(6, 5)])


def blocks():
    for bits, block, k in [(4, 32, 64), (4, 16, 40), (8, 32, 48), (2, 16, 32), (4, 128, 128)]:
        n, count = 5, -(-k // block)
        weights, scales = bytes_of(n, count, block * bits // 8), np.abs(floats(n, count)) / 9
        sizes = dict(N=n, K=k, bits=bits, block_size=block)
        x = floats(2, 3, k)
        # Without an accuracy level, activations stay floats.
        case(f'matmul_nbits_{bits}_{block}', 'MatMulNBits', [x, weights, scales], **sizes)
        zeros = bytes_of(n, -(-count * bits // 8))
        case(f'matmul_nbits_{bits}_{block}_zeros', 'MatMulNBits', [x, weights, scales, zeros], **sizes)
    case('matmul_nbits_float_zeros', 'MatMulNBits', [x, weights, scales, floats(n, count) + 8], **sizes)
    case('matmul_nbits_bias', 'MatMulNBits', [x, weights, scales, None, None, floats(n)], **sizes)

    indices = np.array([[0, 4], [-1, 2]], np.int64)
    table, scales = bytes_of(5, 32), np.abs(floats(5, 4)) / 9
    sizes = dict(block_size=16, gather_axis=0, quantize_axis=1)
    case('gather_blocks_bytes', 'GatherBlockQuantized', [table, indices, scales], bits=4, **sizes)
    case('gather_blocks_bytes_zeros', 'GatherBlockQuantized', [table, indices, scales, bytes_of(5, 2)], bits=4, **sizes)
    case('gather_blocks_8', 'GatherBlockQuantized', [table, indices, scales[:, :2], bytes_of(5, 2)], bits=8, **sizes)
    for dtype, low in [(TensorProto.INT4, -8), (TensorProto.UINT4, 0)]:
        name = TensorProto.DataType.Name(dtype).lower()
        draw = lambda *shape: random.integers(low, low + 16, shape)
        make = lambda key, values: helper.make_tensor(key, dtype, values.shape, values.flatten())
        case(f'gather_blocks_{name}', 'GatherBlockQuantized',
             [make('x0', draw(5, 32)), indices.astype(np.int32), scales[:, :2], make('x3', draw(5, 2))], **sizes)
        case(f'gather_blocks_{name}_columns', 'GatherBlockQuantized',
             [make('x0', draw(32, 5)), indices, scales[:2].repeat(2, axis=1)[:, :5]],
             block_size=16, gather_axis=1, quantize_axis=0)


def tables(rows, pairs):
    angles = np.outer(np.arange(rows), 10000.0 ** (-np.arange(pairs) / pairs))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rotary():
    cos, sin = tables(16, 4)
    positions = np.array([[0, 1, 2], [5, 9, 3]], np.int64)
    rows, heads = floats(2, 3, 16), floats(2, 2, 3, 8)
    case('rotary_rows', 'RotaryEmbedding', [rows, positions, cos, sin])
    case('rotary_offset', 'RotaryEmbedding', [rows, np.array([4], np.int64), cos, sin])
    case('rotary_interleaved', 'RotaryEmbedding', [rows, positions, cos, sin], interleaved=1)
    case('rotary_heads', 'RotaryEmbedding', [heads, positions, cos, sin])
    case('rotary_partial', 'RotaryEmbedding', [rows, positions, cos[:, :2], sin[:, :2]], num_heads=2,
         rotary_embedding_dim=4)


def group_attention():
    batch, heads, shared, size, past = 2, 4, 2, 16, 5
    cos, sin = tables(32, size // 2)

    def inputs(rows, lengths, total, capacity, is_packed=False):
        q, k, v = floats(batch, rows, heads * size), floats(batch, rows, shared * size), floats(batch, rows,
                                                                                                shared * size)
        qkv = [np.concatenate([q, k, v], axis=2), None, None] if is_packed else [q, k, v]
        state = [floats(batch, shared, capacity, size), floats(batch, shared, capacity, size)]
        return qkv + state + [np.array(lengths, np.int32), np.array(total, np.int32)]

    form = dict(num_heads=heads, kv_num_heads=shared)
    rotated = dict(**form, do_rotary=1)
    op = 'GroupQueryAttention'
    case('gqa_prompt', op, inputs(3, [2, 2], 3, 0), 3, **form)
    case('gqa_decode', op, inputs(1, [past, past], past + 1, past), 3, **form)
    case('gqa_packed', op, inputs(1, [past, past], past + 1, past, True), 3, **form)
    case('gqa_rotary_prompt', op, inputs(3, [2, 2], 3, 0) + [cos, sin], 3, **rotated)
    case('gqa_rotary_decode', op, inputs(1, [past, past], past + 1, past) + [cos, sin], 3, **rotated)
    case('gqa_rotary_interleaved', op, inputs(1, [past, past], past + 1, past) + [cos, sin], 3, rotary_interleaved=1,
         **rotated)
    case('gqa_two_lengths', op, inputs(1, [past, 2], past + 1, past) + [cos, sin], 3, **rotated)
    case('gqa_window', op, inputs(6, [5, 5], 6, 0), 1, local_window_size=2, **form)
    case('gqa_window_decode', op, inputs(1, [past, past], past + 1, past), 3, local_window_size=3, **form)
    case('gqa_cap_scale', op, inputs(3, [2, 2], 3, 0), 1, softcap=2.0, scale=0.5, **form)
    case('gqa_bias', op, inputs(3, [2, 2], 3, 0) + [None, None, None, floats(1, heads, 3, 3)], 1, **form)


def multi_attention():
    q, k, v = floats(2, 3, 16), floats(2, 5, 16), floats(2, 5, 24)
    op = 'MultiHeadAttention'
    case('mha', op, [q, k, v], num_heads=2)
    case('mha_scale', op, [q, k, v], num_heads=2, scale=0.4)
    case('mha_bias', op, [q, k, v, floats(56)], num_heads=2)
    case('mha_added', op, [q, k, v, None, None, floats(1, 2, 3, 5)], num_heads=2)
    own = [floats(2, 3, 16), floats(2, 3, 16)]
    state = [floats(2, 2, 4, 8), floats(2, 2, 4, 8)]
    case('mha_past', op, [q, *own, None, None, None, *state], 3, num_heads=2)
    case('mha_causal', op, [q, *own], num_heads=2, unidirectional=1)
    case('mha_causal_past', op, [q, *own, None, None, None, *state], 3, num_heads=2, unidirectional=1)


def padding():
    q, k, v = floats(2, 3, 16), floats(2, 5, 16), floats(2, 5, 24)
    op = 'MultiHeadAttention'
    kept = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
    case('mha_padding', op, [q, k, v, None, kept], num_heads=2)
    case('mha_padding_bias', op, [q, k, v, floats(56), kept, floats(1, 1, 3, 5)], num_heads=2, mask_filter_value=-30.0)
    case('mha_padding_rows', op, [q, k, v, None, random.integers(0, 2, (2, 3, 5)).astype(np.int32)], num_heads=2)


def levels():
    for kind, (n, k, block) in enumerate([(6, 20, 16), (5, 64, 32)]):
        weights, scales = bytes_of(n * k // 2), np.abs(floats(-(-n * k // block)))
        case(f'matmul_bnb4_{kind}', 'MatMulBnb4', [floats(2, 3, k), weights, scales], K=k, N=n, block_size=block,
             quant_type=kind)


def convolution():
    x, weights, bias, past = floats(2, 6, 5), floats(6, 1, 3), floats(6), floats(2, 6, 2)
    op = 'CausalConvWithState'
    case('causal_conv', op, [x, weights, None, past], 2, activation='none')
    case('causal_conv_bias_silu', op, [x, weights, bias, past], 2, activation='silu')
    case('causal_conv_prompt', op, [x, weights], 2, activation='none')
    case('causal_conv_one', op, [x[:, :, :1], weights, bias, past], 2, activation='none')


for group in [elementwise, activations, norms, products, blocks, rotary, group_attention, multi_attention, padding,
              levels, convolution]:
    group()
Path(__file__).with_name('runtime-cases.jsonl').write_text('\n'.join(lines) + '\n')
print(len(lines), 'cases')
