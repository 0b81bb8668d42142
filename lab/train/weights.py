"""Reads and writes safetensors files by tensor name, and gives a model's state as its pack will store it."""
import numpy as np
import torch
from safetensors.torch import load_file, save_file

#: The entry in config.json for 4-bit matrices; the tensors show which ones these are.
FOUR_BIT = {'quant_method': 'compressed-tensors', 'format': 'pack-quantized', 'config_groups': {'group_0': {
    'targets': ['Embedding'],
    'weights': {'num_bits': 4, 'type': 'int', 'symmetric': True, 'strategy': 'group', 'group_size': 32}}}}


def write_safetensors(path, tensors):
    """Writes tensors or arrays by name. They are copied, because the format rejects views of one fused matrix."""
    save_file({name: torch.as_tensor(t).detach().cpu().contiguous().clone() for name, t in tensors.items()}, path,
              {'format': 'pt'})


def read_safetensors(path):
    """The tensors of a file by name in f32. Raises ValueError if one is not stored in a float type."""
    tensors = load_file(path)
    for name, t in tensors.items():
        if not t.is_floating_point():
            raise ValueError(f'{name} in {path} is stored as {t.dtype}; export the model in a float type')
    return {name: t.float() for name, t in tensors.items()}


def snap(model):
    """The state with every matrix replaced by its quantised value, so that any packer recovers the grid used in QAT."""
    kinds = model.QUANTISERS
    return {name: kinds[last](t) if (last := name.split('.')[-1]) in kinds else t
            for name, t in model.state_dict().items()}


def packed4(name, values):
    """Tensors of a matrix [n, k] of quantise4's values in compressed-tensors' format: 8 codes per word, f16 scales."""
    groups = values.reshape(values.shape[0], -1, 32)
    peak = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)
    scale = peak / -8
    codes = np.round(np.divide(groups, scale, out=np.zeros_like(groups), where=scale != 0)).astype(np.int64) + 8
    words = (codes.reshape(values.shape[0], -1, 8) << np.arange(0, 32, 4)).sum(-1)
    return {name + '_packed': words.astype(np.uint32).view(np.int32), name + '_scale': scale[..., 0].astype(np.float16),
            name + '_shape': np.array(values.shape, np.int32)}
