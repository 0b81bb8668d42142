"""Loads the weights of a folder written by `halfbyte prune --as safetensors` into a model, and keeps their zeros."""
import torch

from names import NAMES

#: [outputs, inputs] of a unit that is dropped as a whole.
UNITS = {'sv32': (32, 1), 'sb84': (8, 4)}


def load_named(model, family, tensors):
    """Copies the values of Hugging Face's tensors into the corresponding parameters of the model."""
    tensors_of, _ = NAMES[family]
    state, places, total = model.state_dict(), {}, 0
    for name, t in state.items():
        places[name] = torch.arange(total, total + t.numel()).reshape(t.shape)
        total += t.numel()
    flat = torch.full((total,), float('nan'))
    for name, at in tensors_of(places, model.config).items():
        if name not in tensors or tensors[name].shape != at.shape:
            found = list(tensors[name].shape) if name in tensors else 'none'
            raise ValueError(f'{name} is {found} and the model has {list(at.shape)}; give the pruned folder of this model')
        flat[at.flatten()] = tensors[name].flatten()
    for name, t in state.items():
        t.copy_(flat[places[name].flatten()].reshape(t.shape))


def kept_of(matrix, pattern):
    """1 where a weight may change, including incidental zeros in a kept unit.

    pattern: `sv32`, `sb84`, or N:M. Raises ValueError for a matrix without the pattern's zeros.
    """
    rows, columns = matrix.shape
    if pattern in UNITS:
        height, width = UNITS[pattern]
        if rows % height or columns % width:
            raise ValueError(f'{rows} x {columns} is not a multiple of {height} x {width}, the unit of {pattern}')
        units = matrix.reshape(rows // height, height, columns // width, width).ne(0).any(3, keepdim=True).any(1, keepdim=True)
        return units.expand(-1, height, -1, width).reshape(rows, columns).to(matrix.dtype)
    keep, of = (int(part) for part in pattern.split(':'))
    most = int(matrix[:, :columns // of * of].reshape(rows, -1, of).ne(0).sum(2).max())
    if most > keep:
        raise ValueError(f'a group of {of} has {most} weights and {pattern} keeps {keep}; give the pattern that the model was pruned to')
    return matrix.ne(0).to(matrix.dtype)


@torch.no_grad()
def keep_zeros(model, pattern):
    """Keeps zeros in the matrices of all layers during training, by zeroing their gradients. Returns the masks by name.

    The optimiser must not move a weight whose gradient is zero: AdamW without decay does not.
    """
    masks = {}
    for name, p in model.named_parameters():
        if not name.startswith('layers.') or p.ndim != 2 or name.split('.')[-1] not in model.QUANTISERS:
            continue
        mask = masks[name] = kept_of(p.detach(), pattern)
        p.register_hook(lambda gradient, mask=mask: gradient * mask)
    if all(mask.all() for mask in masks.values()):
        raise ValueError(f'no matrix has zeros of {pattern}; prune the model first')
    return masks
