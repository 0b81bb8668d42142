# Image networks in their real sizes with random weights, as torch exports them (TorchScript, opset 17).
# `python torch_nets.py FOLDER [NAME...]` writes NAME.onnx, whose input is one image of 224 x 224.
import sys
import warnings
from pathlib import Path

import torch
import transformers as tf
from torch import nn
from torchvision import models

TINY = {"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768}
NETS = {
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

    def forward(self, image):
        made = self.model(image)
        return made if isinstance(made, torch.Tensor) else made[0]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted or NETS:
        torch.manual_seed(1)
        with torch.no_grad():
            torch.onnx.export(Tensors(NETS[name]().eval()), (torch.randn(1, 3, 224, 224),),
                              str(folder / f"{name}.onnx"), dynamo=False, opset_version=17, input_names=["image"],
                              output_names=["made"])
        print(f"{name}: written", flush=True)
