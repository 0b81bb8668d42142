# Decoders with a part unknown to every family, as a step with state: maps ids, a mask, positions and the keys and values of
# earlier steps to logits and the new keys and values.
import torch
import transformers as tf
from torch import nn
from transformers import DynamicCache

LAYERS, KV_HEADS, HEAD_DIM = 2, 2, 8
LLAMA = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": LAYERS,
         "num_attention_heads": 4, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "max_position_embeddings": 128,
         "tie_word_embeddings": False}
# Texts, new tokens, earlier tokens.
STEPS = [(1, 1, 1), (1, 5, 1), (2, 3, 4), (1, 1, 7), (3, 1, 16), (1, 2, 17), (2, 7, 2), (1, 16, 33), (4, 1, 3), (1, 1, 64)]


class Step(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *past):
        cache = DynamicCache()
        for layer in range(LAYERS):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        made = self.model(input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache,
                          use_cache=True)
        return (made.logits, *(part for layer in made.past_key_values.layers for part in (layer.keys, layer.values)))


class Branched(nn.Module):
    """A feed-forward layer with a parallel branch."""

    def __init__(self, inner, width):
        super().__init__()
        self.inner = inner
        self.narrow, self.wide = nn.Linear(width, 8), nn.Linear(8, width)

    def forward(self, x):
        return self.inner(x) + self.wide(torch.sin(self.narrow(x)))


def step(model):
    state = [torch.randn(2, KV_HEADS, 4, HEAD_DIM) for _ in range(2 * LAYERS)]
    inputs = (torch.randint(3, 90, (2, 3)), torch.ones(2, 7, dtype=torch.int64), torch.arange(4, 7).expand(2, 3).contiguous(),
              *state)
    axes = {"input_ids": {0: "batch", 1: "tokens"}, "attention_mask": {0: "batch", 1: "total"},
            "position_ids": {0: "batch", 1: "tokens"}}
    for layer in range(LAYERS):
        for part in ("key", "value"):
            axes[f"past.{layer}.{part}"] = {0: "batch", 2: "past"}
    return Step(model), inputs, axes, [(batch, tokens, past + tokens, past) for batch, tokens, past in STEPS]


def mish():
    return step(tf.LlamaForCausalLM(tf.LlamaConfig(**LLAMA, hidden_act="mish")))


def branch():
    model = tf.LlamaForCausalLM(tf.LlamaConfig(**LLAMA))
    for layer in model.model.layers:
        layer.mlp = Branched(layer.mlp, LLAMA["hidden_size"])
    return step(model)


DECODERS = {"decoder-mish": mish, "decoder-branch": branch}
