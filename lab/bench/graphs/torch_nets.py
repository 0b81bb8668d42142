# Image networks in their real sizes, and a small Llama in primitive operators, with random weights, as torch exports
# them (TorchScript, opset 17). `python torch_nets.py FOLDER [NAME...]` writes NAME.onnx, whose input is one image of
# 224 x 224, or ids of 1 x 64 tokens.
import sys
import warnings
from pathlib import Path

import torch
import transformers as tf
from torch import nn
from torchvision import models

TINY = {"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768}
LLAMA = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "num_key_value_heads": 4,
         "intermediate_size": 1024, "vocab_size": 1024, "use_cache": False, "attn_implementation": "eager"}
NETS = {
    "llama": lambda: tf.LlamaModel(tf.LlamaConfig(**LLAMA)),
    "vit_tiny": lambda: tf.ViTModel(tf.ViTConfig(**TINY)),
    "swin_t": models.swin_t,
    "convnext_tiny": models.convnext_tiny,
    "resnet18": models.resnet18,
    "mobilenet_v2": models.mobilenet_v2,
    "efficientnet_b0": models.efficientnet_b0,
}


class Tensors(nn.Module):
    """The first output, whatever the model calls it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, given):
        # A mask of ones, because without it the exporter encounters an unknown operator.
        made = self.model(given) if given.is_floating_point() else self.model(given, torch.ones_like(given))
        return made if isinstance(made, torch.Tensor) else made[0]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted or NETS:
        torch.manual_seed(1)
        is_text = name == "llama"
        given = torch.randint(1024, (1, 64)) if is_text else torch.randn(1, 3, 224, 224)
        with torch.no_grad():
            torch.onnx.export(Tensors(NETS[name]().eval()), (given,), str(folder / f"{name}.onnx"), dynamo=False,
                              opset_version=17, input_names=["ids" if is_text else "image"], output_names=["made"])
        print(f"{name}: written", flush=True)
