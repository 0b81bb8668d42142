"""Trains a LoRA adapter of a float Llama on a text, in PEFT's format, for `halfbyte --lora` and `quantize --lora`.

    python3 -m compress.lora --model MODEL.gguf --text TEXT.jsonl --steps 100 --to out/adapter
    halfbyte quantize MODEL out.hbm --lora out/adapter --calibration TEXT.jsonl
"""
import argparse
import json
from pathlib import Path

import torch

from compress.losses import held_loss, next_token
from compress.source import open_model, windows_of
from weights import write_safetensors


class Lora:
    """Adds (alpha / rank) B A to every matrix of a model's layers; the model's own parameters are frozen."""

    def __init__(self, model, rank, alpha):
        self.model, self.rank, self.alpha = model, rank, alpha
        self.pairs = {}
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(False)
            if name.startswith('layers.') and parameter.ndim == 2:
                rows, columns = parameter.shape
                down = torch.randn(rank, columns) * columns ** -0.5
                self.pairs[name] = tuple(torch.nn.Parameter(t.to(parameter.device)) for t in (down, torch.zeros(rows, rank)))
        names = {id(p): name for name, p in model.named_parameters()}
        whole = model.weight

        def weight(holder, name):
            own = self.pairs.get(names[id(getattr(holder, name))])
            base = whole(holder, name)
            return base if own is None else base + (alpha / rank) * (own[1] @ own[0])
        model.weight = weight

    def parameters(self):
        """The trained parameters."""
        return [each for pair in self.pairs.values() for each in pair]

    def tensors(self):
        """PEFT's names; the parts of a fused matrix share A and take their rows of B."""
        c, out = self.model.config, {}
        heads = [n * c.head_dim for n in (c.heads, c.kv_heads, c.kv_heads)]
        parts = {'qkv': (('self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'), heads),
                 'out': (('self_attn.o_proj',), [c.hidden]),
                 'gate_up': (('mlp.gate_proj', 'mlp.up_proj'), [c.intermediate] * 2), 'down': (('mlp.down_proj',), [c.hidden])}
        for name, (down, up) in self.pairs.items():
            _, layer, kind = name.split('.')
            modules, sizes = parts[kind]
            for module, rows in zip(modules, up.detach().cpu().split(sizes)):
                at = f'base_model.model.model.layers.{layer}.{module}.lora_'
                out[at + 'A.weight'], out[at + 'B.weight'] = down.detach().cpu(), rows
        return out

    def write(self, to):
        """adapter_config.json and adapter_model.safetensors."""
        to.mkdir(parents=True, exist_ok=True)
        tensors = self.tensors()
        write_safetensors(to / 'adapter_model.safetensors', tensors)
        modules = sorted({name.split('.')[-3] for name in tensors})
        config = {'peft_type': 'LORA', 'r': self.rank, 'lora_alpha': self.alpha, 'target_modules': modules,
                  'bias': 'none', 'task_type': 'CAUSAL_LM', 'fan_in_fan_out': False}
        (to / 'adapter_config.json').write_text(json.dumps(config, indent=1) + '\n', encoding='utf-8')


def main():
    """Trains and prints the gain on held-out windows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='a Llama as GGUF, or a checkpoint of one')
    parser.add_argument('--text', type=Path, required=True, help='JSON lines with a text, or ids as .pt')
    parser.add_argument('--rank', type=int, default=8)
    parser.add_argument('--alpha', type=float, default=16)
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--length', type=int, default=256)
    parser.add_argument('--windows', type=int, default=2000)
    parser.add_argument('--rate', type=float, default=1e-3)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    parser.add_argument('--to', type=Path, default=Path('out/adapter'))
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    vocabulary, family, model = open_model(args.model)
    if family != 'llama':
        raise SystemExit('adapters are written for Llama models only; use compress.train, which trains the whole model')
    model.to(args.device)
    windows = windows_of(args.text, vocabulary, args.length, args.windows).to(args.device)
    windows, held = windows[:-16], windows[-16:]
    lora = Lora(model, args.rank, args.alpha)
    print(f'before {held_loss(model, held):.4f} nats per token', flush=True)
    optimizer = torch.optim.AdamW(lora.parameters(), args.rate, weight_decay=0)
    for step in range(args.steps):
        ids = windows[torch.randint(len(windows), (args.batch,))]
        loss = next_token(model(ids[:, :-1]), ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 25 == 0:
            print(f'step {step + 1} of {args.steps}: loss {float(loss.detach()):.4f}', flush=True)
    print(f'after {held_loss(model, held):.4f} nats per token')
    lora.write(args.to)
    print(args.to)


if __name__ == '__main__':
    main()
