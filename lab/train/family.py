"""Opens a checkpoint's model, whatever its family."""
from llama import Llama, LlamaConfig
from mamba2 import Mamba2, Mamba2Config

FAMILIES = {'llama': (LlamaConfig, Llama), 'granitehybrid': (Mamba2Config, Mamba2)}


def restore(saved):
    """The model of a checkpoint."""
    config, model = FAMILIES[saved['family']]
    model = model(config(**saved['config']))
    model.load_state_dict(saved['model'])
    return model
