# Mamba. In: a folder. Out: tiny random decoders with recurrent layers, exported by torch as a step of one token, with ONNX
# Runtime's logits, token by token.
#
# One does what transformers' Mamba does for a token, with channels before tokens; the other what the original package does,
# without an axis of tokens and with einsum. `python mamba.py FOLDER`; needs what export.py needs.
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import nn
from torch.nn import functional

from export import Norm
from reference import HIDDEN, IDS, LAYERS, VOCAB, strip

INNER, STATES, TAPS, RANK = 64, 16, 4, 8


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.conv = nn.Conv1d(INNER, INNER, TAPS, groups=INNER, padding=TAPS - 1)
        self.x_proj = nn.Linear(INNER, RANK + 2 * STATES, bias=False)
        self.dt_proj = nn.Linear(RANK, INNER)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, STATES + 1) * (0.5 + torch.rand(INNER, STATES))))
        self.D = nn.Parameter(torch.randn(INNER))
        self.out_proj = nn.Linear(INNER, HIDDEN, bias=False)


class ByChannels(Mixer):
    """transformers: [batch, channels, 1]."""

    def forward(self, x, window, state):
        inner, gate = self.in_proj(x).transpose(1, 2).chunk(2, dim=1)
        window = torch.cat((window[:, :, 1:], inner), dim=-1)
        inner = torch.sum(window * self.conv.weight[:, 0, :], dim=-1) + self.conv.bias
        inner = functional.silu(inner).unsqueeze(-1)
        selected = self.x_proj(inner.transpose(1, 2))
        rank, enter, leave = torch.split(selected, [RANK, STATES, STATES], dim=-1)
        step = functional.softplus(self.dt_proj(rank)).transpose(1, 2)
        decay = torch.exp(-torch.exp(self.A_log)[None, :, None, :] * step[:, :, :, None])
        added = step[:, :, :, None] * enter[:, None, :, :] * inner[:, :, :, None]
        state = decay[:, :, 0, :] * state + added[:, :, 0, :]
        y = torch.matmul(state, leave[:, 0, :].unsqueeze(-1))
        y = (y + inner * self.D[None, :, None]) * functional.silu(gate)
        return self.out_proj(y.transpose(1, 2)), window, state


class ByRows(Mixer):
    """mamba_ssm: [batch, channels]."""

    def forward(self, x, window, state):
        inner, gate = self.in_proj(x.squeeze(1)).chunk(2, dim=-1)
        window = torch.cat((window[:, :, 1:], inner.unsqueeze(-1)), dim=-1)
        inner = functional.silu(torch.sum(window * self.conv.weight.squeeze(1), dim=-1) + self.conv.bias)
        rank, enter, leave = torch.split(self.x_proj(inner), [RANK, STATES, STATES], dim=-1)
        step = functional.softplus(functional.linear(rank, self.dt_proj.weight) + self.dt_proj.bias)
        decay = torch.exp(torch.einsum("bd,dn->bdn", step, -torch.exp(self.A_log)))
        state = state * decay + inner.unsqueeze(-1) * torch.einsum("bd,bn->bdn", step, enter)
        y = torch.einsum("bdn,bn->bd", state, leave) + self.D * inner
        return self.out_proj(y * functional.silu(gate)).unsqueeze(1), window, state


class Decoder(nn.Module):
    def __init__(self, mixer):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, HIDDEN)
        self.norms = nn.ModuleList([Norm(HIDDEN) for _ in range(LAYERS)])
        self.layers = nn.ModuleList([mixer() for _ in range(LAYERS)])
        self.norm = Norm(HIDDEN)

    def forward(self, ids, *states):
        x = self.embed(ids)
        left = []
        for index, (norm, layer) in enumerate(zip(self.norms, self.layers)):
            mixed, window, state = layer(norm(x), states[2 * index], states[2 * index + 1])
            x = x + mixed
            left += (window, state)
        return functional.linear(self.norm(x), self.embed.weight), *left


def export(folder, name, mixer):
    torch.manual_seed(7)
    model = Decoder(mixer).eval()
    path = folder / name / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [f"{part}.{layer}" for layer in range(LAYERS) for part in ("conv", "ssm")]
    states = [torch.randn(1, INNER, TAPS if part.startswith("conv") else STATES) for part in parts]
    names = ["input_ids", *(f"past_{part}" for part in parts)]
    made = ["logits", *(f"present_{part}" for part in parts)]
    with torch.no_grad():
        torch.onnx.export(model, (torch.tensor([IDS[:1]]), *states), str(path), input_names=names,
                          output_names=made, dynamic_axes={each: {0: "batch_size"} for each in names + made},
                          opset_version=17, dynamo=False)
    strip(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds = {each: np.zeros(state.shape, dtype=np.float32) for each, state in zip(names[1:], states)}
    logits = []
    for token in IDS:
        row, *left = session.run(None, {"input_ids": np.array([[token]]), **feeds})
        feeds = dict(zip(names[1:], left))
        logits.append([round(float(x), 7) for x in row[0, 0]])
    (path.parent / "logits.json").write_text(json.dumps({"ids": IDS, "logits": logits}))


if __name__ == "__main__":
    export(Path(sys.argv[1]), "mamba-channels", ByChannels)
    export(Path(sys.argv[1]), "mamba-rows", ByRows)
