# Image networks in their real sizes, a U-Net, a detector, dilated Conv1d and a small Llama in primitive operators, with
# random weights, as torch exports them (TorchScript, opset 17). `python torch_nets.py FOLDER [NAME...]` writes
# NAME.onnx, whose input is one image of 224 x 224, or what SIZES states, or ids of 1 x 64 tokens.
import sys
import warnings
from pathlib import Path

import torch
import transformers as tf
from torch import nn
from torchvision import models



def conv(inputs, outputs, kernel=3, stride=1, activation=nn.ReLU):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2), activation())


class UNet(nn.Module):
    """Four levels of 32 to 256 channels."""

    def __init__(self, width=32):
        super().__init__()
        sizes = [width << level for level in range(4)]
        self.down = nn.ModuleList([nn.Sequential(conv(before, size), conv(size, size))
                                   for before, size in zip([3, *sizes], sizes)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * size, size, 2, 2) for size in sizes[2::-1]])
        self.joined = nn.ModuleList([nn.Sequential(conv(2 * size, size), conv(size, size)) for size in sizes[2::-1]])
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        kept = []
        for level in self.down:
            x = level(x if not kept else self.pool(x))
            kept.append(x)
        for up, joined, beside in zip(self.up, self.joined, kept[2::-1]):
            x = joined(torch.cat([beside, up(x)], 1))
        return torch.sigmoid(self.last(x))


def silu(inputs, outputs, kernel=1, stride=1):
    return conv(inputs, outputs, kernel, stride, nn.SiLU)


class Stage(nn.Module):
    """Half of the channels go through `count` residual pairs; all results are concatenated."""

    def __init__(self, inputs, outputs, count=1):
        super().__init__()
        self.half = outputs // 2
        self.first = silu(inputs, outputs)
        self.pairs = nn.ModuleList([nn.Sequential(silu(self.half, self.half, 3), silu(self.half, self.half, 3))
                                    for _ in range(count)])
        self.last = silu((2 + count) * self.half, outputs)

    def forward(self, x):
        parts = list(self.first(x).split(self.half, 1))
        for pair in self.pairs:
            parts.append(parts[-1] + pair(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    """In the shape of YOLO's small models: three scales of 64 to 256 channels, 84 numbers per place."""

    def __init__(self):
        super().__init__()
        self.fine = nn.Sequential(silu(3, 16, 3, 2), silu(16, 32, 3, 2), Stage(32, 32), silu(32, 64, 3, 2),
                                  Stage(64, 64, 2))
        self.middle = nn.Sequential(silu(64, 128, 3, 2), Stage(128, 128, 2))
        self.coarse = nn.Sequential(silu(128, 256, 3, 2), Stage(256, 256))
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.narrow, self.wide = silu(256, 128), silu(512, 256)
        self.up = nn.Upsample(scale_factor=2)
        self.to_middle, self.to_fine = Stage(384, 128), Stage(192, 64)
        self.heads = nn.ModuleList([nn.Sequential(silu(size, 64, 3), silu(64, 64, 3), nn.Conv2d(64, 84, 1))
                                    for size in (64, 128, 256)])

    def forward(self, x):
        fine = self.fine(x)
        middle = self.middle(fine)
        pooled = [self.narrow(self.coarse(middle))]
        for _ in range(3):
            pooled.append(self.pool(pooled[-1]))
        coarse = self.wide(torch.cat(pooled, 1))
        middle = self.to_middle(torch.cat([self.up(coarse), middle], 1))
        fine = self.to_fine(torch.cat([self.up(middle), fine], 1))
        scales = zip(self.heads, (fine, middle, coarse))
        return torch.cat([head(scale).flatten(2) for head, scale in scales], 2)


class Wave(nn.Module):
    """Six dilated Conv1d between a convolution and a transposed one, both with a stride of 8."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 64, 16, 8, 4)
        self.layers = nn.ModuleList([nn.Conv1d(64, 64, 3, 1, 1 << at, 1 << at) for at in range(6)])
        self.last = nn.ConvTranspose1d(64, 1, 16, 8, 4)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = x + torch.relu(layer(x))
        return self.last(x)


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
    "mobilenet_v3": models.mobilenet_v3_large,
    "efficientnet_b0": models.efficientnet_b0,
    "unet": UNet,
    "yolo": Detector,
    "wave": Wave,
}
SIZES = {"unet": (1, 3, 128, 128), "yolo": (1, 3, 320, 320), "wave": (1, 1, 16000)}


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
        given = torch.randint(1024, (1, 64)) if is_text else torch.randn(*SIZES.get(name, (1, 3, 224, 224)))
        with torch.no_grad():
            torch.onnx.export(Tensors(NETS[name]().eval()), (given,), str(folder / f"{name}.onnx"), dynamo=False,
                              opset_version=17, input_names=["ids" if is_text else "image"], output_names=["made"])
        print(f"{name}: written", flush=True)
