"""A family's name in, its configuration and model out."""
from llama import Llama, LlamaConfig
from mamba import Mamba, MambaConfig
from mamba2 import Mamba2, Mamba2Config

FAMILIES = {'llama': (LlamaConfig, Llama), 'mamba': (MambaConfig, Mamba), 'granitehybrid': (Mamba2Config, Mamba2)}


def build(family, shape):
    """A new model; what the shape leaves out has the family's default."""
    config, model = FAMILIES[family]
    return model(config(**shape))


def restore(saved):
    """The model of a checkpoint."""
    model = build(saved['family'], saved['config'])
    model.load_state_dict(saved['model'])
    return model
