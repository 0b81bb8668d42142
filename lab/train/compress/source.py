"""Opens a model to compress (a Llama as GGUF or folder, or a checkpoint of any family here), and makes windows of ids from a
text."""
import json
from pathlib import Path

import torch

from family import restore
from stories import spm
from stories.cut_vocabulary import teacher_of
from stories.from_folder import model_of, vocabulary_of
from stories.spm import Spm
from weights import read_safetensors

BOS = 1


def open_model(path, context=512, tokenizer=None):
    """The vocabulary, the family's name and the model.

    path: a Llama as .gguf, a folder of stories/export.py, or a checkpoint. tokenizer: the folder with a
    checkpoint's tokenizer.json; without it the vocabulary is None, and the text must be ids.
    """
    path = Path(path)
    if path.suffix == '.gguf':
        vocabulary, model = teacher_of(path, context)
        return Spm(vocabulary.pieces, vocabulary.scores, vocabulary.pieces[1:3]), 'llama', model
    if path.is_dir():
        config = json.loads((path / 'config.json').read_text(encoding='utf-8'))
        return read_vocabulary(path), 'llama', model_of(read_safetensors(path / 'model.safetensors'), config)
    saved = torch.load(path)
    return tokenizer and read_vocabulary(tokenizer), saved['family'], restore(saved)


def read_vocabulary(folder):
    """The vocabulary of a folder that stories/export.py wrote."""
    return spm.load(vocabulary_of(json.loads((Path(folder) / 'tokenizer.json').read_text(encoding='utf-8'))))


def windows_of(path, vocabulary, length, most):
    """Ids [count, length + 1] of JSON lines with a text, each text after BOS, or of a .pt file with a row of ids."""
    if str(path).endswith('.pt'):
        ids = torch.load(path).flatten()
    else:
        found = []
        with open(path, encoding='utf-8') as lines:
            for line in lines:
                found += [BOS, *vocabulary.encode(json.loads(line)['text'])]
                if len(found) > (most + 1) * (length + 1):
                    break
        ids = torch.tensor(found)
    count = min(most, len(ids) // (length + 1))
    if count < 1:
        raise ValueError(f'{path} has {len(ids)} tokens and one window takes {length + 1}; give more text or a smaller --length')
    return ids[:count * (length + 1)].reshape(count, -1).long()


@torch.no_grad()
def sampled(model, count, length, generator):
    """Windows that the model itself generates, at temperature 1 after BOS."""
    ids = torch.full((count, 1), BOS)
    for _ in range(length):
        odds = torch.softmax(model(ids)[:, -1], -1)
        ids = torch.cat([ids, torch.multinomial(odds, 1, generator=generator)], 1)
    return ids


@torch.no_grad()
def input_squares(model, batches):
    """The mean square of every input of each matrix, by the matrix's name in the state dict."""
    names = {id(p): name for name, p in model.named_parameters()}
    sums, count = {}, {}
    whole = torch.nn.functional.linear

    def watched(x, weight, bias=None):
        name = names.get(id(weight))
        if name is not None:
            rows = x.reshape(-1, x.shape[-1])
            sums[name] = sums.get(name, 0) + rows.square().sum(0)
            count[name] = count.get(name, 0) + len(rows)
        return whole(x, weight, bias)

    torch.nn.functional.linear = watched
    try:
        for ids in batches:
            model(ids[:, :-1])
    finally:
        torch.nn.functional.linear = whole
    return {name: total / count[name] for name, total in sums.items()}
