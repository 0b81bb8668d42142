"""Trains any causal language model in Hugging Face's format, on its 4-bit grid or with an adapter.

    python3 -m compress.folder --model FOLDER --text TEXT.jsonl --format w4 --steps 200 --to out/qat
    halfbyte quantize out/qat model.hbm --method rtn --weights w4
    python3 -m compress.folder --model FOLDER --text CHATS.jsonl --lora 16 --steps 200 --to out/adapter
    halfbyte quantize FOLDER model.hbm --lora out/adapter --calibration CHATS.jsonl

FOLDER has config.json, safetensors and a tokenizer; a GGUF file that transformers can read works too. A line of the text has a
`text`, or `messages`, which the tokenizer's own template renders, or a `text` and the `answer` at its end; then only the answer
is learned. --resume continues from the last checkpoint.
"""
import argparse
import copy
import hashlib
import json
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from torch.nn.utils import parametrize
from transformers import AutoModelForCausalLM, AutoTokenizer

from checkpoint import save
from compress.grids import QUANTISERS, clipped
from compress.losses import confidence, held_loss, training_loss
from compress.source import input_squares
from compress.text import batch_of, split, windows_of
from compress.train import descend, falling, optimizer_of

#: Matrices outside of layers, and small ones that packs keep in 8 bits: Mamba's step sizes, and routers of experts.
NOT_ON_GRID = ('lm_head', 'x_proj', 'dt_proj', 'router', 'mlp.gate')
CHECKPOINT = 'checkpoint.pt'


class Logits(torch.nn.Module):
    """A model of transformers whose call takes ids [batch, time] and returns logits [batch, time, vocabulary]."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


class OnGrid(torch.nn.Module):
    """A matrix as its pack stores it. Gradients pass straight through the rounding."""

    def __init__(self, quantise):
        super().__init__()
        self.quantise = quantise

    def forward(self, matrix):
        return matrix + (self.quantise(matrix) - matrix).detach()


def open_folder(path):
    """The tokenizer and the model, in f32, of a folder or a GGUF file."""
    path = Path(path)
    place = {'gguf_file': path.name} if path.suffix == '.gguf' else {}
    folder = path.parent if place else path
    tokenizer = AutoTokenizer.from_pretrained(folder, **place)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **place)
    # The weights are floats from here on. transformers does not save a model that it considers quantised.
    if place:
        model.hf_quantizer = None
        model.config.__dict__.pop('quantization_config', None)
    return tokenizer, model


def matrices_of(model):
    """The linear layers that a pack stores in 4 bits, by name. Raises ValueError for a model without any."""
    found = {name: layer for name, layer in model.named_modules()
             if isinstance(layer, torch.nn.Linear) and not any(f'.{part}.' in f'.{name}.' for part in NOT_ON_GRID)}
    if not found:
        raise ValueError('the model has no linear layers that a pack stores in 4 bits')
    return found


def put_on_grid(model, kind, squares=None):
    """Rounds every matrix in each forward pass; matrices whose squared inputs are given, by name, are clipped first."""
    for name, layer in matrices_of(model).items():
        if squares is not None:
            layer.weight.data = clipped(layer.weight, squares[f'model.{name}.weight'])
        parametrize.register_parametrization(layer, 'weight', OnGrid(QUANTISERS[kind]))


def leave_grid(model):
    """Replaces the matrices by the values of their codes."""
    for layer in matrices_of(model).values():
        parametrize.remove_parametrizations(layer, 'weight', leave_parametrized=True)


class Run:
    """A training run. Each step depends only on its number and the state, so that the run can be resumed."""

    def __init__(self, args, student, teacher, windows, gamma):
        self.args, self.student, self.teacher = args, student, teacher
        self.windows, self.gamma, self.step = windows, gamma, 0
        self.learning = [p for p in student.parameters() if p.requires_grad]
        self.optimizer = optimizer_of(self.learning, args.rate)
        given = {key: value for key, value in vars(args).items() if key not in ('resume', 'save_every', 'finish', 'to')}
        own = hashlib.sha256(windows.numpy().tobytes())
        for p in student.parameters():
            own.update(p.detach().flatten()[:64].numpy().tobytes())
        self.key = json.dumps({**given, 'model': str(given['model']), 'text': str(given['text']), 'own': own.hexdigest()})

    def load(self, path):
        """Continues from a checkpoint. Raises ValueError if it belongs to another model, text or options."""
        state = torch.load(path)
        if state['key'] != self.key:
            raise ValueError(f'{path} belongs to another model, text or options; omit --resume, or give another --to')
        for p, value in zip(self.learning, state['learning']):
            p.data.copy_(value)
        self.optimizer.load_state_dict(state['optimizer'])
        self.step = state['step']

    def save(self, path):
        """Writes a checkpoint."""
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path, key=self.key, learning=[p.detach() for p in self.learning], optimizer=self.optimizer.state_dict(),
             step=self.step)

    def steps(self, checkpoint):
        """Yields each step's number and loss."""
        args = self.args
        while self.step < args.steps:
            ids = batch_of(self.windows, args.batch, args.seed, self.step)
            loss = training_loss(self.student, self.teacher, ids, self.gamma)
            loss = descend(self.optimizer, falling(args.rate, self.step, args.steps), loss)
            self.step += 1
            if self.step % args.save_every == 0:
                self.save(checkpoint)
            yield self.step, loss


def student_of(args, model, windows):
    """The student, its teacher (none for an adapter and for --loss ce), and gamma."""
    if args.lora:
        config = LoraConfig(r=args.lora, lora_alpha=2 * args.lora, target_modules=list(matrices_of(model)), task_type='CAUSAL_LM')
        return Logits(get_peft_model(model, config)), None, None
    teacher, gamma, squares = None, None, None
    if args.loss == 'cakld':
        teacher = Logits(copy.deepcopy(model).eval().requires_grad_(False))
        some = [batch_of(windows, 4, args.seed, i) for i in range(min(8, len(windows) // 4))]
        gamma = confidence(teacher, some)
        squares = input_squares(teacher, some) if args.format == 'w4m' else None
    put_on_grid(model, args.format, squares)
    return Logits(model), teacher, gamma


def write(args, student, tokenizer):
    """PEFT's two files, or a folder of transformers with the tokenizer."""
    model = student.model
    if args.lora and args.merge:
        model = model.merge_and_unload()
    elif not args.lora:
        leave_grid(model)
    if args.merge or not args.lora:
        tokenizer.save_pretrained(args.to)
    model.save_pretrained(args.to)


def arguments(given=None):
    """The command's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='a folder of transformers, or a GGUF file that it reads')
    parser.add_argument('--text', type=Path, required=True, help='JSON lines with a text, messages, or a text and the answer at its end')
    parser.add_argument('--lora', type=int, default=0, metavar='RANK', help='train an adapter of this rank instead of the weights')
    parser.add_argument('--merge', action='store_true', help='with --lora: write the whole model with the adapter in its weights')
    parser.add_argument('--format', choices=sorted(QUANTISERS), default='w4')
    parser.add_argument('--loss', choices=['cakld', 'ce'], default='cakld', help='adapters always take ce')
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--batch', type=int, default=4)
    parser.add_argument('--length', type=int, default=256)
    parser.add_argument('--windows', type=int, default=2000)
    parser.add_argument('--rate', type=float, help='default: 1e-3 for an adapter, else 2e-5')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--save-every', type=int, default=25, help='steps between two checkpoints, at which the held-out loss is printed')
    parser.add_argument('--resume', action='store_true')
    parser.add_argument('--finish', action='store_true', help='with --resume: write the model of the last checkpoint')
    parser.add_argument('--to', type=Path, default=Path('out/folder'))
    args = parser.parse_args(given)
    if args.merge and not args.lora:
        parser.error('--merge is for an adapter; give --lora, or omit --merge: other models are always whole')
    if args.finish and not (args.resume and (args.to / CHECKPOINT).exists()):
        parser.error(f'--finish writes the model of {args.to / CHECKPOINT}; give --resume and the --to of a stopped run')
    args.rate = args.rate or (1e-3 if args.lora else 2e-5)
    return args


def main(given=None):
    """Trains and prints the gain on held-out windows."""
    args = arguments(given)
    torch.manual_seed(args.seed)
    tokenizer, model = open_folder(args.model)
    windows = windows_of(args.text, tokenizer, args.length, args.windows)
    windows, held = split(windows, args.seed)
    checkpoint = args.to / CHECKPOINT
    if not args.finish:
        print(f'{len(windows)} windows to train on, {-(-len(windows) // args.batch)} steps a round', flush=True)
        print(f'float {held_loss(Logits(model), held):.4f} nats per token', flush=True)
    student, teacher, gamma = student_of(args, model, windows)
    if not args.lora:
        print(f'on the grid {held_loss(student, held):.4f}', flush=True)
    run = Run(args, student, teacher, windows, gamma)
    if args.resume and checkpoint.exists():
        run.load(checkpoint)
        print(f'continuing after step {run.step}', flush=True)
    for step, loss in () if args.finish else run.steps(checkpoint):
        if step % args.save_every == 0:
            print(f'step {step} of {args.steps}: loss {loss:.4f}, held out {held_loss(student, held):.4f}', flush=True)
    print(f'after training {held_loss(student, held):.4f} nats per token')
    write(args, student, tokenizer)
    checkpoint.unlink(missing_ok=True)
    print(args.to)


if __name__ == '__main__':
    main()
