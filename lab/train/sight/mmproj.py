"""Writes a tower as an mmproj file: GGUF with llama.cpp's names, matrices in 8 bits."""
import struct

import numpy as np

from sight.scenes import CELL, SIDE
from sight.tower import EPSILON, HEADS, HIDDEN, INNER, LAYERS

ALIGNMENT = 32
#: GGUF's type numbers for metadata and tensors.
UINT, FLOAT, BOOL, TEXT, LIST = 4, 6, 7, 8, 9
F32, F16, Q8_0 = 0, 1, 8
#: Inputs that share a scale in Q8_0.
GROUP = 32

METADATA = {
    'general.architecture': (TEXT, 'clip'),
    'general.name': (TEXT, 'Halfbyte Sight'),
    'general.license': (TEXT, 'mit'),
    'clip.has_vision_encoder': (BOOL, True),
    'clip.projector_type': (TEXT, 'mlp'),
    'clip.use_gelu': (BOOL, True),
    'clip.vision.image_size': (UINT, SIDE * CELL),
    'clip.vision.patch_size': (UINT, CELL),
    'clip.vision.embedding_length': (UINT, HIDDEN),
    'clip.vision.feed_forward_length': (UINT, INNER),
    'clip.vision.block_count': (UINT, LAYERS),
    'clip.vision.attention.head_count': (UINT, HEADS),
    'clip.vision.attention.layer_norm_epsilon': (FLOAT, EPSILON),
    'clip.vision.image_mean': (LIST, [0.5] * 3),
    'clip.vision.image_std': (LIST, [0.5] * 3),
}


def text(value):
    """A length of 8 bytes, then UTF-8."""
    data = value.encode()
    return struct.pack('<Q', len(data)) + data


def written(kind, value):
    """A metadata value with its type; lists contain floats."""
    if kind == TEXT:
        return struct.pack('<I', kind) + text(value)
    if kind == LIST:
        return struct.pack(f'<IIQ{len(value)}f', kind, FLOAT, len(value), *value)
    return struct.pack('<I' + {UINT: 'I', FLOAT: 'f', BOOL: '?'}[kind], kind, value)


def q8_0(values):
    """Groups of an f16 scale and 32 codes from -127 to 127."""
    groups = values.reshape(-1, GROUP)
    scale = (np.abs(groups).max(1, keepdims=True) / 127).astype(np.float16)
    wide = scale.astype(np.float32)
    codes = np.round(np.divide(groups, wide, out=np.zeros_like(groups), where=wide != 0)).clip(-127, 127)
    return np.concatenate([scale.view(np.uint8).reshape(-1, 2), codes.astype(np.int8).view(np.uint8)], 1).tobytes()


def tensors_of(tower):
    """Shape, type and bytes of each tensor by its name."""
    out = {}
    for name, parameter in tower.state_dict().items():
        values = np.ascontiguousarray(parameter.detach().float().numpy())
        first, *rest = name.split('.')
        own = {'inner': 'mm.0', 'project': 'mm.2'}.get(first, f'v.{first}')
        name = '.'.join([own, *rest] if rest else [own, 'weight'])
        shape, kind = values.shape, F32
        if first == 'patch_embd' and values.ndim == 2:
            shape, kind = (HIDDEN, 3, CELL, CELL), F16
        elif values.ndim == 2 and first != 'position_embd':
            kind = Q8_0
        data = q8_0(values) if kind == Q8_0 else values.astype(np.float16 if kind == F16 else np.float32).tobytes()
        out[name] = shape, kind, data
    return out


def mmproj(tower):
    """The bytes of the file."""
    tensors = tensors_of(tower)
    head = struct.pack('<IIQQ', 0x46554747, 3, len(tensors), len(METADATA))
    head += b''.join(text(key) + written(*value) for key, value in METADATA.items())
    body = b''
    for name, (shape, kind, data) in tensors.items():
        sizes = struct.pack(f'<I{len(shape)}Q', len(shape), *reversed(shape))
        head += text(name) + sizes + struct.pack('<IQ', kind, len(body))
        body += data + bytes(-len(data) % ALIGNMENT)
    return head + bytes(-len(head) % ALIGNMENT) + body
