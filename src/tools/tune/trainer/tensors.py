"""Reads and writes safetensors files with torch alone."""
import ctypes
import json
import os
import struct

import torch

DTYPES = {'F32': torch.float32, 'F16': torch.float16, 'BF16': torch.bfloat16}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def read_tensors(path):
    """The tensors of a file by name, in the types in which they are stored. They share one block of memory."""
    with open(path, 'rb') as file:
        header = json.loads(file.read(struct.unpack('<Q', file.read(8))[0]))
        data = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    header.pop('__metadata__', None)
    return {name: data[entry['data_offsets'][0]:entry['data_offsets'][1]].view(DTYPES[entry['dtype']]).view(entry['shape'])
            for name, entry in header.items()}


def write_tensors(path, tensors):
    """Writes the tensors; the file appears under its name when it is complete."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {'dtype': NAMES[tensor.dtype], 'shape': list(tensor.shape), 'data_offsets': [at, at + size]}
        at += size
    head = json.dumps(header).encode()
    head += b' ' * (-len(head) % 8)
    with open(path + '.part', 'wb') as file:
        file.write(struct.pack('<Q', len(head)) + head)
        for tensor in tensors.values():
            tensor = tensor.contiguous()
            file.write(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + '.part', path)
