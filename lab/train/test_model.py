"""Tests the base of all families: the quantisers of QAT, the Llama's tensors, safetensors."""
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from llama import Llama, LlamaConfig
from model import quantise4, quantise8
from names import llama_tensors
from weights import read_safetensors, snap, write_safetensors

SMALL = LlamaConfig(vocab=64, hidden=64, layers=2, heads=2, kv_heads=1, intermediate=96, context=32)


class QuantiserTest(unittest.TestCase):
    """Tests the fake quantisers."""

    def setUp(self):
        torch.manual_seed(3)
        self.weight = torch.randn(8, 64)

    def test_four_bits_lie_on_the_grid(self):
        for group in quantise4(self.weight).reshape(-1, 32):
            self.assertLessEqual(len(group.unique()), 16)
        self.assertLess((quantise4(self.weight) - self.weight).norm() / self.weight.norm(), 0.12)

    def test_search_beats_the_plain_scale(self):
        groups = self.weight.reshape(-1, 32)
        peak = groups.gather(1, groups.abs().argmax(1, keepdim=True))
        scale = (peak / -8).half().float()
        plain = (groups / scale).round().clamp(-8, 7) * scale
        self.assertLess((quantise4(self.weight).reshape(-1, 32) - groups).norm(), (plain - groups).norm())

    def test_eight_bits_are_close_and_zero_stays_zero(self):
        self.assertLess((quantise8(self.weight) - self.weight).abs().max(), self.weight.abs().max() / 127)
        for quantise in (quantise4, quantise8):
            self.assertEqual(quantise(torch.zeros(2, 32)).abs().sum().item(), 0)

    def test_gradient_passes_straight_through(self):
        model = Llama(SMALL)
        ids = torch.randint(0, 64, (2, 17))
        model.qat = True
        model.loss(ids).backward()
        self.assertGreater(model.layers[0].down.grad.abs().sum().item(), 0)
        probe = model.layers[0].down = torch.nn.Parameter(torch.randn(4, 64))
        (model.weight(model.layers[0], 'down') * torch.arange(64.)).sum().backward()
        self.assertTrue(torch.equal(probe.grad, torch.arange(64.).expand(4, 64)))


class ExportTest(unittest.TestCase):
    """Tests the model under its Hugging Face names, and the file."""

    def test_a_plain_llama_over_the_exported_tensors_agrees(self):
        torch.manual_seed(5)
        model, c = Llama(SMALL), SMALL
        tensors = llama_tensors(model.state_dict(), c)
        ids = torch.randint(0, c.vocab, (9,))
        x = tensors['model.embed_tokens.weight'][ids]
        speed = c.theta ** (-torch.arange(0, c.head_dim, 2) / c.head_dim)
        angle = torch.outer(torch.arange(9.), speed).repeat(1, 2)

        def norm(x, name):
            return x / (x.pow(2).mean(-1, keepdim=True) + c.eps).sqrt() * tensors[name]

        def rotate(x):
            a, b = x.chunk(2, -1)
            return x * angle.cos() + torch.cat([-b, a], -1) * angle.sin()

        for i in range(c.layers):
            at = f'model.layers.{i}.'
            y = norm(x, at + 'input_layernorm.weight')
            q, k, v = (F.linear(y, tensors[f'{at}self_attn.{n}_proj.weight']) for n in 'qkv')
            heads = []
            for h in range(c.heads):
                g = h // (c.heads // c.kv_heads)
                part = slice(h * c.head_dim, (h + 1) * c.head_dim)
                shared = slice(g * c.head_dim, (g + 1) * c.head_dim)
                scores = rotate(q[:, part]) @ rotate(k[:, shared]).T / c.head_dim ** 0.5
                scores = scores.masked_fill(torch.ones(9, 9).triu(1).bool(), -np.inf)
                heads.append(scores.softmax(-1) @ v[:, shared])
            x = x + F.linear(torch.cat(heads, -1), tensors[at + 'self_attn.o_proj.weight'])
            y = norm(x, at + 'post_attention_layernorm.weight')
            gate = F.silu(F.linear(y, tensors[at + 'mlp.gate_proj.weight']))
            up = F.linear(y, tensors[at + 'mlp.up_proj.weight'])
            x = x + F.linear(gate * up, tensors[at + 'mlp.down_proj.weight'])
        logits = F.linear(norm(x, 'model.norm.weight'), tensors['model.embed_tokens.weight'])
        with torch.no_grad():
            self.assertLess((model(ids[None])[0] - logits).abs().max().item(), 1e-4)

    def test_snapped_weights_are_what_qat_sees(self):
        torch.manual_seed(6)
        model, ids = Llama(SMALL), torch.randint(0, 64, (1, 9))
        with torch.no_grad():
            plain, model.qat = model(ids), True
            seen, model.qat = model(ids), False
            model.load_state_dict(snap(model))
            self.assertLess((model(ids) - seen).abs().max().item(), 1e-5)
        self.assertGreater((plain - seen).abs().max().item(), 1e-3)

    def test_a_file_keeps_floats_and_parts_of_a_matrix(self):
        whole = torch.randn(4, 8)
        first, second = whole.split(2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'x.safetensors'
            write_safetensors(path, {'first': first, 'second': second.bfloat16(), 'half': np.ones((2, 3), np.float16)})
            found = read_safetensors(path)
            write_safetensors(path, {'codes': np.arange(4, dtype=np.int32)})
            with self.assertRaisesRegex(ValueError, 'codes in .* is stored as torch.int32'):
                read_safetensors(path)
        self.assertTrue(torch.equal(found['first'], first))
        self.assertTrue(torch.equal(found['second'], second.bfloat16().float()))
        self.assertTrue(torch.equal(found['half'], torch.ones(2, 3)))


if __name__ == '__main__':
    unittest.main()
