"""Arrays by name in, a safetensors file out; and a model's state as its pack will hold it."""
import json
import struct

import numpy as np

#: bfloat16 comes as its bits.
DTYPE = {np.dtype(np.float16): 'F16', np.dtype(np.float32): 'F32', np.dtype(np.uint16): 'BF16',
         np.dtype(np.int32): 'I32'}
#: What config.json says of matrices in 4 bits; tensors tell which they are.
FOUR_BIT = {'quant_method': 'compressed-tensors', 'format': 'pack-quantized', 'config_groups': {'group_0': {
    'targets': ['Embedding'],
    'weights': {'num_bits': 4, 'type': 'int', 'symmetric': True, 'strategy': 'group', 'group_size': 32}}}}


def write_safetensors(path, tensors, metadata):
    """Writes arrays by name: header length, JSON header padded with spaces to 8 bytes, then the data."""
    header, offset = {'__metadata__': metadata}, 0
    for name, array in tensors.items():
        span = [offset, offset + array.nbytes]
        header[name] = {'dtype': DTYPE[array.dtype], 'shape': list(array.shape), 'data_offsets': span}
        offset += array.nbytes
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def snap(model):
    """The state with every matrix replaced by its quantised value, so that any packer finds the grid QAT trained for."""
    kinds = model.QUANTISERS
    return {name: kinds[last](t) if (last := name.split('.')[-1]) in kinds else t
            for name, t in model.state_dict().items()}


def packed4(name, values):
    """Tensors of a matrix [n, k] of quantise4's values in compressed-tensors' form: 8 codes to a word, f16 scales."""
    groups = values.reshape(values.shape[0], -1, 32)
    peak = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)
    scale = peak / -8
    codes = np.round(np.divide(groups, scale, out=np.zeros_like(groups), where=scale != 0)).astype(np.int64) + 8
    words = (codes.reshape(values.shape[0], -1, 8) << np.arange(0, 32, 4)).sum(-1)
    return {name + '_packed': words.astype(np.uint32).view(np.int32), name + '_scale': scale[..., 0].astype(np.float16),
            name + '_shape': np.array(values.shape, np.int32)}
