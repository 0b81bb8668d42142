# Exports. In: a folder. Out: tiny random decoders as torch exports them, with ONNX Runtime's logits.
#
# The modules do what transformers' Llama and Qwen2 do, step for step, so that the graphs have the same nodes. `python export.py
# FOLDER`; needs torch, onnx, onnxscript and onnxruntime.
import json
import math
import sys
from pathlib import Path

import torch
from torch import nn

from reference import HEAD_DIM, HEADS, HIDDEN, IDS, INNER, KV_HEADS, LAYERS, VOCAB, run, strip


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(width))

    def forward(self, x):
        kind = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6)).to(kind)


def rotate_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)


def repeat_kv(x, times):
    batch, heads, tokens, width = x.shape
    x = x[:, :, None, :, :].expand(batch, heads, times, tokens, width)
    return x.reshape(batch, heads * times, tokens, width)


class Attention(nn.Module):
    def __init__(self, bias, sdpa, head_norm):
        super().__init__()
        self.sdpa = sdpa
        self.q = nn.Linear(HIDDEN, HEADS * HEAD_DIM, bias=bias)
        self.k = nn.Linear(HIDDEN, KV_HEADS * HEAD_DIM, bias=bias)
        self.v = nn.Linear(HIDDEN, KV_HEADS * HEAD_DIM, bias=bias)
        self.o = nn.Linear(HEADS * HEAD_DIM, HIDDEN, bias=False)
        self.q_norm = Norm(HEAD_DIM) if head_norm else nn.Identity()
        self.k_norm = Norm(HEAD_DIM) if head_norm else nn.Identity()

    def forward(self, x, cos, sin, mask, past):
        shape = (*x.shape[:-1], -1, HEAD_DIM)
        q = self.q_norm(self.q(x).view(shape)).transpose(1, 2)
        k = self.k_norm(self.k(x).view(shape)).transpose(1, 2)
        v = self.v(x).view(shape).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        if past is not None:
            k = torch.cat((past[0], k), dim=2)
            v = torch.cat((past[1], v), dim=2)
        present = (k, v)
        k, v = repeat_kv(k, HEADS // KV_HEADS), repeat_kv(v, HEADS // KV_HEADS)
        if self.sdpa:
            made = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(HEAD_DIM)
            weights = nn.functional.softmax(scores + mask, dim=-1, dtype=torch.float32).to(q.dtype)
            made = torch.matmul(weights, v)
        made = made.transpose(1, 2).contiguous().reshape(*x.shape[:-1], -1)
        return self.o(made), present


class Block(nn.Module):
    def __init__(self, bias, sdpa, head_norm, gelu):
        super().__init__()
        self.gelu = gelu
        self.before, self.after = Norm(HIDDEN), Norm(HIDDEN)
        self.attention = Attention(bias, sdpa, head_norm)
        self.gate = nn.Linear(HIDDEN, INNER, bias=False)
        self.up = nn.Linear(HIDDEN, INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x, *rest):
        mixed, present = self.attention(self.before(x), *rest)
        x = x + mixed
        y = self.after(x)
        if self.gelu is not None:
            return x + self.down(self.gelu(self.up(y))), present
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y)), present


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Decoder(nn.Module):
    def __init__(self, bias=False, sdpa=False, tied=False, cache=True, head_norm=False, base=10000.0,
                 gelu=None):
        super().__init__()
        self.cache = cache
        self.embed = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList([Block(bias, sdpa, head_norm, gelu) for _ in range(LAYERS)])
        self.norm = Norm(HIDDEN)
        self.head = nn.Linear(HIDDEN, VOCAB, bias=False)
        if tied:
            self.head.weight = self.embed.weight
        steps = torch.arange(0, HEAD_DIM, 2, dtype=torch.int64).float() / HEAD_DIM
        self.register_buffer("frequencies", 1.0 / (base**steps), persistent=False)

    def forward(self, ids, attention_mask=None, positions=None, *past):
        x = self.embed(ids)
        tokens = ids.shape[1]
        before = past[0].shape[2] if len(past) > 0 else 0
        if positions is None:
            positions = torch.arange(before, before + tokens).unsqueeze(0)
        angles = (self.frequencies[None, :, None].expand(positions.shape[0], -1, 1).float()
                  @ positions[:, None, :].float()).transpose(1, 2)
        both = torch.cat((angles, angles), dim=-1)
        cos, sin = both.cos().unsqueeze(1), both.sin().unsqueeze(1)
        least = torch.finfo(torch.float32).min
        total = before + tokens
        mask = torch.full((tokens, total), fill_value=least)
        if total != 1:
            mask = torch.triu(mask, diagonal=1 if self.cache is False else before + 1)
        mask = mask[None, None, :, :].expand(ids.shape[0], 1, -1, -1)
        if attention_mask is not None:
            padding = mask + attention_mask[:, None, None, :].float()
            mask = mask.masked_fill(padding == 0, least)
        presents = []
        for index, layer in enumerate(self.layers):
            own = (past[2 * index], past[2 * index + 1]) if len(past) > 0 else None
            x, present = layer(x, cos, sin, mask, own)
            presents += present
        logits = self.head(self.norm(x))
        return (logits, *presents) if self.cache else logits


FORMS = {
    "llama-no-cache": dict(cache=False),
    "llama-cache": dict(),
    "qwen2-cache": dict(bias=True, tied=True, sdpa=True, base=1000000.0),
    "qwen3-cache": dict(head_norm=True, sdpa=True, base=1000000.0),
    "gelu-exact": dict(gelu=nn.functional.gelu),
    "gelu-tanh": dict(gelu=gelu_new),
}


def export(folder, name, options):
    torch.manual_seed(7)
    model = Decoder(**options).eval()
    path = folder / name / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [f"{kind}.{part}" for kind in range(LAYERS) for part in ("key", "value")]
    if options.get("cache", True):
        past = [torch.randn(1, KV_HEADS, 3, HEAD_DIM) for _ in names]
        inputs = (torch.tensor([IDS[:4]]), torch.ones(1, 7, dtype=torch.int64), torch.arange(3, 7)[None], *past)
        input_names = ["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{n}" for n in names)]
        output_names = ["logits", *(f"present.{n}" for n in names)]
        axes = {"input_ids": {0: "batch_size", 1: "sequence_length"},
                "attention_mask": {0: "batch_size", 1: "past_sequence_length + sequence_length"},
                "position_ids": {0: "batch_size", 1: "sequence_length"},
                "logits": {0: "batch_size", 1: "sequence_length"}}
        for n in names:
            axes[f"past_key_values.{n}"] = {0: "batch_size", 2: "past_sequence_length"}
            axes[f"present.{n}"] = {0: "batch_size", 2: "past_sequence_length + sequence_length"}
    else:
        inputs = (torch.tensor([IDS[:4]]),)
        input_names, output_names = ["input_ids"], ["logits"]
        axes = {"input_ids": {0: "batch_size", 1: "sequence_length"},
                "logits": {0: "batch_size", 1: "sequence_length"}}
    with torch.no_grad():
        torch.onnx.export(model, inputs, str(path), input_names=input_names, output_names=output_names,
                          dynamic_axes=axes, opset_version=17, dynamo=False)
    strip(path)
    logits = run(path)
    (path.parent / "logits.json").write_text(json.dumps({"ids": IDS, "logits": logits}))


class Named(nn.Module):
    """The decoder with a fixed number of inputs, as torch.export requires."""

    def __init__(self, model):
        super().__init__()
        self.m = model

    def forward(self, ids, attention_mask, positions, past0, past1, past2, past3):
        return self.m(ids, attention_mask, positions, past0, past1, past2, past3)


def export_opset23(folder):
    """Turns nodes into RMSNormalization, RotaryEmbedding and Attention, as the exporter of torch.export does."""
    torch.manual_seed(7)
    model = Decoder(sdpa=True).eval()
    path = folder / "opset23" / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    past = [torch.randn(1, KV_HEADS, 3, HEAD_DIM) for _ in range(2 * LAYERS)]
    size = torch.export.Dim
    tokens, before = size("s", min=2, max=512), size("p", min=2, max=512)
    inputs = (torch.tensor([IDS[:4]]), torch.ones(1, 7, dtype=torch.int64), torch.arange(3, 7)[None], *past)
    shapes = ({1: tokens}, {1: size.AUTO}, {1: tokens}, {2: before}, {2: before}, {2: before}, {2: before})
    torch.onnx.export(Named(model), inputs, str(path), dynamo=True, opset_version=23, external_data=False,
                      dynamic_shapes=shapes)
    strip(path)
    (path.parent / "logits.json").write_text(json.dumps({"ids": IDS, "logits": run(path)}))


if __name__ == "__main__":
    for name, options in FORMS.items():
        export(Path(sys.argv[1]), name, options)
    export_opset23(Path(sys.argv[1]))
