"""A folder of stories.export in; the embedding as its pack holds it, and the vocabulary, out."""
import json

from model import quantise8
from stories import spm
from stories.from_folder import vocabulary_of
from weights import read_safetensors


def load_embedding(folder):
    """The rows of tokens [vocabulary, hidden], which do not learn."""
    return quantise8(read_safetensors(folder / 'model.safetensors')['model.embed_tokens.weight'])


def load_vocabulary(folder):
    """How the model's texts become ids."""
    return spm.load(vocabulary_of(json.loads((folder / 'tokenizer.json').read_text(encoding='utf-8'))))
