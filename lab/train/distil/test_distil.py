"""Tests the distilled Mamba: SSD against the recurrence, the model against its tensors, losses, and Halfbyte."""
import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F

from distil import train
from distil.losses import align_loss, distil_loss
from distil.start import SHARED, gate_of, start
from family import restore
from llama import Llama, LlamaConfig
from mamba2 import Mamba2, WIDTH
from names import granitehybrid_tensors
from ssd import recurrence, ssd
from stories.export import write_folder
from stories.prepare import IDS, OWN, write
from stories.test_stories import small_cut
from weights import snap

TIME = 100
SMALL, _ = small_cut()
VOCAB = len(SMALL.pieces)
SHAPE = {'inner': 96, 'heads': 6, 'groups': 3, 'states': 32}
ROOT = Path(__file__).parent / '../../..'


def teacher():
    """A Llama of three heads, so that keys have the 96 rows that B has."""
    torch.manual_seed(3)
    return Llama(LlamaConfig(vocab=VOCAB, hidden=96, layers=2, heads=3, kv_heads=3, intermediate=64, context=TIME))


def student(llama):
    """A Mamba-2 initialised from it, with every parameter changed."""
    model = start(llama, torch.randint(0, VOCAB, (2, TIME)), **SHAPE)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.05)
    return model


class SsdTest(unittest.TestCase):
    """Tests the chunked scan."""

    def inputs(self):
        torch.manual_seed(5)
        shapes = [(2, TIME, 6, 8), (2, TIME, 6), (6,), (2, TIME, 3, 12), (2, TIME, 3, 12)]
        x, dt, decay, b, c = (torch.randn(shape, dtype=torch.double) for shape in shapes)
        return [each.requires_grad_() for each in (x, F.softplus(dt), -decay.exp(), b, c)]

    def test_values_and_gradients_are_the_recurrences(self):
        for chunk in (16, 64, 256):
            inputs = [each.detach().requires_grad_() for each in self.inputs()]
            outputs = [recurrence(*inputs), ssd(*inputs, chunk=chunk)]
            weight = torch.randn_like(outputs[0])
            wanted, found = (torch.autograd.grad((each * weight).sum(), inputs) for each in outputs)
            for ours, theirs in zip([outputs[1], *found], [outputs[0], *wanted]):
                self.assertLess((ours - theirs).abs().max().item(), 1e-9 * (1 + theirs.abs().max().item()))

    def test_strong_decay_gives_numbers(self):
        x, dt, _, b, c = self.inputs()
        decay = torch.full((6,), -1e4, dtype=torch.double, requires_grad=True)
        y = ssd(x, dt, decay, b, c)
        y.sum().backward()
        self.assertTrue(y.isfinite().all() and decay.grad.isfinite().all() and x.grad.isfinite().all())


class ModelTest(unittest.TestCase):
    """Tests the model, its initialisation and its export."""

    def setUp(self):
        self.llama = teacher()
        self.model = student(self.llama)
        self.ids = torch.randint(0, VOCAB, (1, TIME))

    def test_a_plain_mamba_over_the_exported_tensors_agrees(self):
        c, tensors = self.model.config, granitehybrid_tensors(self.model.state_dict(), self.model.config)
        x = tensors['model.embed_tokens.weight'][self.ids]

        def norm(x, name):
            return x / (x.pow(2).mean(-1, keepdim=True) + c.eps).sqrt() * tensors[name]

        for i in range(c.layers):
            at, wide = f'model.layers.{i}.', c.groups * c.states
            own = {k.split('mamba.')[1]: v for k, v in tensors.items() if k.startswith(at + 'mamba.')}
            u = norm(x, at + 'input_layernorm.weight')
            z, mixed, dt = F.linear(u, own['in_proj.weight']).split([c.inner, c.inner + 2 * wide, c.heads], -1)
            mixed = F.silu(F.conv1d(F.pad(mixed.transpose(1, 2), (WIDTH - 1, 0)), own['conv1d.weight'],
                                    own['conv1d.bias'], groups=mixed.shape[-1])).transpose(1, 2)
            h, b, leave = mixed.split([c.inner, wide, wide], -1)
            h = h.view(1, TIME, c.heads, -1)
            y = recurrence(h, F.softplus(dt + own['dt_bias']), -own['A_log'].exp(),
                           b.view(1, TIME, c.groups, -1), leave.view(1, TIME, c.groups, -1)) + h * own['D'][:, None]
            y = (y.flatten(2) * F.silu(z)).view(1, TIME, c.groups, -1)
            y = (y / (y.pow(2).mean(-1, keepdim=True) + c.eps).sqrt()).flatten(2) * own['norm.weight']
            x = x + F.linear(y, own['out_proj.weight'])
            u = norm(x, at + 'post_attention_layernorm.weight')
            gate, up = F.linear(u, tensors[at + 'shared_mlp.input_linear.weight']).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, tensors[at + 'shared_mlp.output_linear.weight'])
        logits = F.linear(norm(x, 'model.norm.weight'), tensors['model.embed_tokens.weight'])
        with torch.no_grad():
            self.assertLess((self.model(self.ids) - logits).abs().max().item(), 1e-4)

    def test_every_parameter_learns_and_matrices_are_quantised(self):
        self.model.qat = True
        self.model.loss(self.ids).backward()
        for name, parameter in self.model.named_parameters():
            self.assertGreater(parameter.grad.abs().sum().item(), 0, name)
        matrices = {n.split('.')[-1] for n, p in self.model.named_parameters() if p.ndim == 2}
        self.assertEqual(matrices - set(self.model.QUANTISERS), {'conv'})

    def test_snapped_weights_are_what_qat_sees(self):
        with torch.no_grad():
            self.model.qat = True
            seen, self.model.qat = self.model(self.ids), False
            self.model.load_state_dict(snap(self.model))
            self.assertLess((self.model(self.ids) - seen).abs().max().item(), 1e-4)

    def test_the_start_keeps_what_is_no_attention(self):
        model = start(self.llama, self.ids, **SHAPE)
        for ours, theirs in zip(model.layers, self.llama.layers):
            for name in SHARED:
                self.assertTrue(torch.equal(getattr(ours, name), getattr(theirs, name)))
        self.assertTrue(torch.equal(model.embed, self.llama.embed))

    def test_the_gate_begins_near_one_where_inputs_have_a_mean(self):
        inputs = torch.randn(4000, 96) * 0.3 + torch.randn(96)
        self.assertLess((inputs @ gate_of(inputs) - 1).abs().mean().item(), 0.05)


class TrainingTest(unittest.TestCase):
    """Tests the losses and the loop."""

    def rows(self):
        rows = np.random.default_rng(2).integers(0, VOCAB, (2, TIME + 1)).astype(np.uint16)
        rows[:, TIME // 2:] |= OWN
        return rows

    def test_alignment_sees_the_mixers_alone(self):
        llama, rows = teacher(), self.rows()
        model = start(llama, torch.randint(0, VOCAB, (2, TIME)), **SHAPE)
        for layer in model.layers:
            layer.out.data.zero_()
        loss = align_loss(llama, model, rows)
        # With outputs of zero, the error is the mean square, which is at least the variance.
        self.assertGreaterEqual(loss.item(), 1 - 1e-4)
        loss.backward()
        self.assertIsNone(model.embed.grad)
        self.assertTrue(all(layer.gate_up.grad is None for layer in model.layers))
        self.assertTrue(all(layer.out.grad.abs().sum() > 0 for layer in model.layers))

    def test_distillation_is_zero_for_the_teacher_and_counts_own_tokens(self):
        llama, rows = teacher(), self.rows()
        self.assertAlmostEqual(distil_loss(llama, llama, rows).item(), 0, places=5)
        model = student(llama)
        with torch.no_grad():
            ids = torch.from_numpy((rows[:, :-1] & IDS).astype(np.int64))
            p, q = (each(ids).log_softmax(-1)[:, TIME // 2 - 1:] for each in (llama, model))
            wanted = ((p.exp() * (p - q)).sum(-1)).mean().item()
            self.assertAlmostEqual(distil_loss(llama, model, rows).item(), wanted, places=4)

    def test_a_run_goes_through_both_stages_and_goes_on(self):
        llama = teacher()
        with tempfile.TemporaryDirectory() as folder, patch.object(train, 'LENGTH', 32), \
                patch.object(train, 'start', lambda model, ids: start(model, ids, **SHAPE)):
            out = Path(folder)
            torch.save({'family': 'llama', 'config': vars(llama.config), 'model': llama.state_dict()}, out / 'start.pt')
            write(out, 'text', [[1, *(i % 200 | OWN for i in range(n, n + 40))] for n in range(20)])
            (out / 'mixture.json').write_text('{"text": 1}')
            base = ['train', '--out', folder, '--batch-tokens', '64', '--tokens', '1024', '--align', '0.5']
            for more, stage, qat in ((['--max-steps', '6'], 'align', False), (['--resume'], 'distil', True)):
                with patch('sys.argv', [*base, *more]):
                    train.main()
                state = torch.load(out / 'mamba.pt')
                self.assertEqual((state['stage'], state['qat']), (stage, qat))
            self.assertEqual(state['step'], 17)
            self.assertIsInstance(restore(state), Mamba2)


class EngineTest(unittest.TestCase):
    """Tests that Halfbyte reads the exported folder with the same results as Python."""

    def logits(self, model, ids, snapped):
        """Halfbyte's, in f32."""
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            write_folder(at / 'model', model, SMALL, snapped, 'f32', 'granitehybrid')
            (at / 'ids.json').write_text(json.dumps(ids[0].tolist()))
            command = ['npx', 'node', 'lab/train/distil/logits.mjs', '--model', at / 'model', '--ids', at / 'ids.json']
            return torch.tensor(json.loads(
                subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout))

    def test_logits_agree_in_float_and_as_qat_sees_the_weights(self):
        model, ids = student(teacher()), torch.randint(0, VOCAB, (1, TIME))
        for model.qat in (False, True):
            with torch.no_grad():
                wanted = model(ids)[0]
            error = (self.logits(model, ids, model.qat) - wanted).abs().max().item()
            self.assertLess(error, 1e-3 * wanted.abs().max().item())


if __name__ == '__main__':
    unittest.main()
