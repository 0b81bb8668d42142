"""Reads the metadata and the F16 and F32 tensors of a GGUF file."""
import struct
from pathlib import Path

import numpy as np

SCALARS = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: '?', 10: 'Q', 11: 'q', 12: 'd'}
TEXT, ARRAY = 8, 9
DTYPES = {0: np.float32, 1: np.float16}


class Reader:
    """Reads little-endian values one after another."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def scalar(self, code):
        """One value of a struct code."""
        value, = struct.unpack_from('<' + code, self.data, self.at)
        self.at += struct.calcsize('<' + code)
        return value

    def text(self):
        """A length of 8 bytes, then UTF-8."""
        length = self.scalar('Q')
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def value(self, kind):
        """A metadata value of a GGUF type."""
        if kind == TEXT:
            return self.text()
        if kind != ARRAY:
            return self.scalar(SCALARS[kind])
        inner, count = self.scalar('I'), self.scalar('Q')
        return [self.value(inner) for _ in range(count)]


def read_gguf(path):
    """Metadata by key, and tensors in f32 by name. Raises ValueError for another format or a quantised tensor."""
    data = Path(path).read_bytes()
    reader = Reader(data)
    if reader.scalar('I') != 0x46554747 or reader.scalar('I') != 3:
        raise ValueError(f'{path} is not a GGUF file of version 3')
    count, keys = reader.scalar('Q'), reader.scalar('Q')
    meta = {}
    for _ in range(keys):
        key = reader.text()
        meta[key] = reader.value(reader.scalar('I'))
    infos = []
    for _ in range(count):
        name = reader.text()
        shape = [reader.scalar('Q') for _ in range(reader.scalar('I'))]
        infos.append((name, shape[::-1], reader.scalar('I'), reader.scalar('Q')))
    align = meta.get('general.alignment', 32)
    start = -(-reader.at // align) * align
    tensors = {}
    for name, shape, kind, offset in infos:
        if kind not in DTYPES:
            raise ValueError(f'{name} in {path} has the type {kind}; F32 (0) and F16 (1) are read')
        flat = np.frombuffer(data, DTYPES[kind], int(np.prod(shape)), start + offset)
        tensors[name] = flat.astype(np.float32).reshape(shape)
    return meta, tensors
