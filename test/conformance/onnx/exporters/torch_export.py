# Exports of torch.export. In: a folder. Out: a folder in it for each family, opset and attention, with the
# logits of ONNX Runtime. `python torch_export.py FOLDER [NAME...]`
import shutil
import sys
from pathlib import Path

import torch
from torch import nn
from transformers import DynamicCache

import floats
import reference
from jobs import run_jobs
from models import HEAD_DIM, model_of, save_tokenizer

DYNAMO = [(family, opset, "sdpa", "f32") for opset in (18, 20, 23)
          for family in ("llama", "smollm2", "qwen3", "phi3")]
DYNAMO += [(family, 18, "eager", "f32") for family in ("llama", "qwen2", "gemma2-capped", "gpt2", "mistral-window")]
DYNAMO += [(family, 18, "sdpa", "f32") for family in ("starcoder2", "granite", "olmo2", "gemma3", "gpt-neox")]
DYNAMO += [("llama", 20, "eager", "f32"), ("llama", 23, "eager", "f32")]
DYNAMO += [("llama", 18, "sdpa", "f16"), ("llama", 23, "sdpa", "f16"), ("llama", 18, "sdpa", "bf16"),
           ("qwen3", 23, "sdpa", "bf16")]
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


class Step(nn.Module):
    """Maps ids, a mask, positions and the states of all layers to logits and the new states."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *past):
        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        made = self.model(input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache,
                          use_cache=True)
        states = [part for layer in made.past_key_values.layers for part in (layer.keys, layer.values)]
        return (made.logits, *states)


def parts_of(model, dtype):
    config = model.config
    layers = config.num_hidden_layers
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    names = [f"{layer}.{part}" for layer in range(layers) for part in ("key", "value")]
    past = [torch.randn(2, heads, 5, HEAD_DIM).to(dtype) for _ in names]
    ids = torch.arange(6).reshape(2, 3) + 3
    inputs = (ids, torch.ones(2, 8, dtype=torch.int64), torch.arange(5, 8).expand(2, 3).contiguous(), *past)
    given = ["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{name}" for name in names)]
    return inputs, given, ["logits", *(f"present.{name}" for name in names)]


def write(target, family, opset, attention, kind):
    form = f"{kind} opset {opset} {attention}"
    save_tokenizer(target)
    how = reference.write if kind == "f32" else floats.write
    how(target, exporter="torch dynamo", family=family, form=form, kind=kind)


def dynamo(target, family, opset, attention, kind):
    target.mkdir(parents=True, exist_ok=True)
    model = model_of(family, attention, TYPES[kind])
    inputs, given, made = parts_of(model, TYPES[kind])
    auto = torch.export.Dim.AUTO
    shapes = ({0: auto, 1: auto}, {0: auto, 1: auto}, {0: auto, 1: auto}, tuple({0: auto, 2: auto} for _ in inputs[3:]))
    with torch.no_grad():
        torch.onnx.export(Step(model), inputs, str(target / "model.onnx"), dynamo=True, opset_version=opset,
                          input_names=given, output_names=made, dynamic_shapes=shapes, external_data=False,
                          verbose=False)
    write(target, family, opset, attention, kind)


if __name__ == "__main__":
    run_jobs(Path(sys.argv[1]), sys.argv[2:], [
        (f"dynamo{opset}-{family}-{attention}-{kind}", dynamo, (family, opset, attention, kind))
        for family, opset, attention, kind in DYNAMO
    ])
