"""Arrays by name in, a safetensors file out; and a model's state as its pack will hold it."""
import json
import struct

import numpy as np

#: bfloat16 comes as its bits.
DTYPE = {np.dtype(np.float16): 'F16', np.dtype(np.float32): 'F32', np.dtype(np.uint16): 'BF16'}


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
