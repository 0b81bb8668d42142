"""Tests QAT, distillation and adapters on tiny models: `python3 -m unittest discover` in lab/train/."""
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

from compress.codes import Coded, divergence
from compress.codes import train as train_codes
from compress.grids import asymmetric, by_groups, clipped, quantise_w4, quantise_w4m, stored
from compress.layout import own_layout
from compress.lora import Lora
from compress.losses import cakld, confidence, held_loss
from compress.finetune import finetune
from compress.masks import keep_zeros, kept_of, load_named
from compress.source import input_squares, sampled, windows_of
from compress.train import prepare_student, train
from compress.write import write_folder
from llama import Llama, LlamaConfig
from mamba2 import Mamba2, Mamba2Config
from weights import read_safetensors, snap

SMALL = dict(vocab=64, hidden=64, layers=2, heads=2, kv_heads=1, intermediate=96, context=40)


def small_llama():
    """A seeded model whose losses move within a few steps."""
    torch.manual_seed(3)
    return Llama(LlamaConfig(**SMALL))


def small_mamba(heads=32):
    """The same for a Mamba-2. This number of heads makes the rows of in_proj a multiple of 32, which masks of units need."""
    torch.manual_seed(5)
    model = Mamba2(Mamba2Config(vocab=64, hidden=64, layers=2, context=40, inner=64, heads=heads, groups=1, states=16,
                                intermediate=96))
    for layer in model.layers:
        for value in layer.parameters():
            if value.ndim == 2:
                torch.nn.init.normal_(value, std=value.shape[1] ** -0.5)
    return model


class GridTest(unittest.TestCase):
    """The values of codes."""

    def setUp(self):
        torch.manual_seed(1)
        self.matrix = torch.randn(6, 76)

    def test_few_values_in_a_group_and_what_is_snapped_stays(self):
        for quantise, most in ((quantise_w4, 16), (quantise_w4m, 16)):
            value = quantise(self.matrix)
            for first, last in ((0, 32), (32, 64), (64, 76)):
                self.assertLessEqual(len(value[0, first:last].unique()), most)
            again = quantise(value)
            self.assertLess(float((again - value).abs().max()), 1e-3)

    def test_scales_are_those_of_a_pack(self):
        scales = stored(torch.rand(100) * 1e-4)
        self.assertTrue(torch.equal(scales * 256, (scales * 256).half().float()))

    def test_clipping_lowers_the_weighted_error(self):
        squares = torch.rand(76) ** 4
        error = lambda value: float(((value - self.matrix).square() * squares).sum())
        plain = error(by_groups(self.matrix, asymmetric))
        self.assertLess(error(quantise_w4m(clipped(self.matrix, squares))), 0.95 * plain)


class LossTest(unittest.TestCase):
    """Tests which parameters are trained."""

    def test_cakld_is_zero_for_equal_models_and_mixes_both_directions(self):
        student, teacher = torch.randn(2, 5, 7), torch.randn(2, 5, 7)
        self.assertAlmostEqual(float(cakld(teacher, teacher, 0.3)), 0, places=6)
        both = [float(cakld(student, teacher, g)) for g in (0.0, 0.25, 1.0)]
        self.assertAlmostEqual(both[1], 0.75 * both[0] + 0.25 * both[2], places=5)
        t = torch.distributions.Categorical(logits=teacher)
        s = torch.distributions.Categorical(logits=student)
        self.assertAlmostEqual(both[0], float(torch.distributions.kl_divergence(t, s).mean()), places=5)
        self.assertAlmostEqual(both[2], float(torch.distributions.kl_divergence(s, t).mean()), places=5)

    def test_confidence_is_a_mean_probability(self):
        ids = torch.randint(64, (2, 9))
        self.assertAlmostEqual(confidence(lambda given: torch.zeros(*given.shape, 64), [ids]), 1 / 64, places=6)


class TrainTest(unittest.TestCase):
    """Tests the training loop, for both families."""

    def test_distilling_comes_nearer_to_the_float_model_and_starts_from_clipped_weights(self):
        for teacher in (small_llama(), small_mamba()):
            windows = torch.randint(64, (16, 33))
            squares = input_squares(teacher, [windows[:4]])
            student = prepare_student(teacher, 'w4m', squares)
            losses = list(train(student, teacher, windows, 30, 8, 1e-3, 0.4))
            self.assertLess(np.mean(losses[-5:]), 0.9 * np.mean(losses[:5]))

    def test_plain_qat_lowers_the_loss_and_leaves_the_teacher_alone(self):
        teacher = small_llama()
        before = {name: t.clone() for name, t in teacher.state_dict().items()}
        windows = torch.arange(33 * 8).reshape(8, 33) % 60
        student = prepare_student(teacher, 'w4')
        first = held_loss(student, windows)
        list(train(student, teacher, windows, 30, 8, 3e-3, None))
        self.assertLess(held_loss(student, windows), 0.8 * first)
        self.assertTrue(all(torch.equal(t, before[name]) for name, t in teacher.state_dict().items()))

    def test_the_folder_holds_the_values_that_were_trained(self):
        student = prepare_student(small_llama(), 'w4')
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), 'llama', student, None)
            data = (Path(folder) / 'model.safetensors').read_bytes()
        value = snap(student)['layers.0.down'].numpy().tobytes()
        self.assertIn(value, data)

    def test_short_texts_are_refused_and_teachers_write_windows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'ids.pt'
            torch.save(torch.arange(10), path)
            with self.assertRaisesRegex(ValueError, '10 tokens and one window takes 33'):
                windows_of(path, None, 32, 4)
        self.assertEqual(sampled(small_llama(), 3, 8, torch.Generator().manual_seed(1)).shape, (3, 9))


class MaskTest(unittest.TestCase):
    """Tests the zeros of a pruned model."""

    def pruned(self, model, pattern):
        """Half of the units of every matrix are zero."""
        torch.manual_seed(4)
        for name, p in model.named_parameters():
            if name.startswith('layers.') and p.ndim == 2 and name.split('.')[-1] in model.QUANTISERS:
                rows, columns = p.shape
                if ':' in pattern:
                    kept = torch.tensor([1.0, 0, 0, 1]).repeat(columns // 4).expand(rows, -1)
                else:
                    height, width = {'sv32': (32, 1), 'sb84': (8, 4)}[pattern]
                    kept = (torch.rand(rows // height, columns // width) < 0.5).float()
                    kept = kept.repeat_interleave(height, 0).repeat_interleave(width, 1)
                p.data.mul_(kept)
        return model

    def test_zeros_stay_through_training_and_the_others_learn(self):
        families = (('llama', small_llama), ('granitehybrid', small_mamba))
        for pattern in ('2:4', 'sv32', 'sb84'):
            for family, make in families:
                teacher = make()
                begin = self.pruned(make(), pattern)
                windows = torch.arange(33 * 8).reshape(8, 33) % 60
                student = prepare_student(begin, 'w4')
                masks = keep_zeros(student, pattern)
                first = held_loss(student, windows)
                list(train(student, teacher, windows, 20, 8, 3e-3, None))
                self.assertLess(held_loss(student, windows), 0.9 * first)
                state = student.state_dict()
                for name, mask in masks.items():
                    self.assertTrue(torch.equal(state[name] * (1 - mask), torch.zeros_like(mask)), name)
                    self.assertFalse(torch.equal(state[name], begin.state_dict()[name]), name)
                    self.assertAlmostEqual(float(mask.mean()), 0.5, delta=0.2)
                with tempfile.TemporaryDirectory() as folder:
                    write_folder(Path(folder), family, student, None)
                    again = make()
                    load_named(again, family, read_safetensors(Path(folder) / 'model.safetensors'))
                snapped = snap(student)
                for name, value in again.state_dict().items():
                    self.assertTrue(torch.equal(value, snapped[name]), name)
                    if name in masks:
                        self.assertEqual(float((value * (1 - masks[name])).abs().max()), 0)

    def test_models_without_the_pattern_are_refused(self):
        with self.assertRaisesRegex(ValueError, 'a group of 4 has 4 weights and 2:4 keeps 2'):
            keep_zeros(small_llama(), '2:4')
        with self.assertRaisesRegex(ValueError, 'no matrix has zeros of sv32'):
            keep_zeros(small_llama(), 'sv32')
        with self.assertRaisesRegex(ValueError, '20 x 8 is not a multiple of 32 x 1'):
            kept_of(torch.ones(20, 8), 'sv32')
        other = Llama(LlamaConfig(**{**SMALL, 'intermediate': 64}))
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), 'llama', other, None)
            with self.assertRaisesRegex(ValueError, 'gate_proj.weight is .64, 64. and the model has .96, 64.'):
                load_named(small_llama(), 'llama', read_safetensors(Path(folder) / 'model.safetensors'))


def pack_of(model, family):
    """The codes that codes.mjs would read for the model, rounded to the nearest code with the peak's scale."""
    found, state = {}, model.state_dict()
    for ours, theirs in own_layout(family, 2).matrices.items():
        for name, rows in zip(theirs, state[ours].chunk(len(theirs))):
            by_group = rows.abs().unfold(1, 32, 32).amax(-1)
            scales = stored(by_group / 7)
            codes = (rows / scales.repeat_interleave(32, 1)).round().clamp(-8, 7)
            found[f'{name}.codes'] = codes + 8
            found[f'{name}.scales'] = scales
    return found


def coded(model, family, pack):
    """The model on a pack's codes."""
    return Coded(own_layout(family, 2), model, pack)


class CodesTest(unittest.TestCase):
    """Tests training that starts from the codes of a pack."""

    def setUp(self):
        self.teacher = small_llama().requires_grad_(False)
        self.pack = pack_of(self.teacher, 'llama')

    def test_it_begins_at_the_codes_and_scales_of_the_pack(self):
        self.assertEqual(self.pack['layers.0.attn_k.weight.codes'].shape, (43, 64))
        after = coded(self.teacher, 'llama', self.pack).stored()
        for name, value in self.pack.items():
            np.testing.assert_array_equal(after[name], value.numpy())
        gains = {f'layers.{i}.{name}.weight' for i in range(2) for name in ('attn_norm', 'mlp_norm')}
        self.assertEqual(set(after), {*self.pack, *gains, 'norm.weight'})

    def test_training_comes_nearer_to_the_float_model_and_stays_on_the_grid(self):
        torch.manual_seed(4)
        windows = torch.randint(64, (16, 33))
        student = coded(self.teacher, 'llama', self.pack)
        before = divergence(student, windows)
        list(train_codes(student, windows, 40, 8, (0.02, 0.003), 0.4))
        self.assertLess(divergence(student, windows), 0.9 * before)
        after = student.stored()
        for name, value in after.items():
            if name.endswith('.codes'):
                self.assertTrue(np.isin(value, range(16)).all())
            if name.endswith('.scales'):
                np.testing.assert_array_equal(stored(torch.from_numpy(value)).numpy(), value)
        logits = student(windows[:1])
        for key, matrix in student.matrices.items():
            np.testing.assert_allclose(matrix().detach(), matrix.codes() * matrix.spread(matrix.scales()).detach(), rtol=1e-6)
        self.assertTrue(torch.equal(student(windows[:1]), logits))

    def test_training_without_gamma_learns_the_text(self):
        torch.manual_seed(4)
        windows = torch.arange(33).repeat(16, 1) + torch.randint(30, (16, 1))
        student = coded(self.teacher, 'llama', self.pack)
        losses = list(train_codes(student, windows, 30, 8, (0.02, 0.01), None))
        self.assertLess(losses[-1], 0.95 * losses[0])
        self.assertAlmostEqual(losses[0], held_loss(coded(self.teacher, 'llama', self.pack), windows), delta=0.2 * losses[0])

    def test_codes_of_other_rows_are_refused(self):
        codes = self.pack['layers.1.attn_q.weight.codes']
        self.pack['layers.1.attn_q.weight.codes'] = codes.roll(1, 0)
        with self.assertRaisesRegex(ValueError, r'layers\.1\.attn_q\.weight miss its weights by [12]\.'):
            coded(self.teacher, 'llama', self.pack)

    def test_codes_that_are_in_8_bits_stay_float_and_strange_ones_are_refused(self):
        for what in ('codes', 'scales'):
            del self.pack[f'layers.0.mlp_down.weight.{what}']
        student = coded(self.teacher, 'llama', self.pack)
        self.assertNotIn('layers 0 down', student.matrices)
        self.assertNotIn('layers.0.mlp_down.weight.codes', student.stored())
        self.assertTrue(torch.isfinite(student(torch.arange(9)[None])).all())
        with self.assertRaisesRegex(ValueError, r'layers\.9\.attn_q\.weight\.codes is not in the model'):
            coded(self.teacher, 'llama', {**self.pack, 'layers.9.attn_q.weight.codes': self.pack['layers.0.attn_q.weight.codes']})
        with self.assertRaisesRegex(ValueError, 'a matrix with codes is not in the model'):
            coded(self.teacher, 'llama', {})

    def test_without_a_rate_codes_rest_while_scales_learn(self):
        student = coded(self.teacher, 'llama', self.pack)
        windows = torch.randint(64, (16, 33))
        before = divergence(student, windows)
        list(train_codes(student, windows, 30, 8, (0, 0.003), 0.4))
        self.assertLess(divergence(student, windows), before)
        after = student.stored()
        for name, value in self.pack.items():
            self.assertEqual(np.array_equal(after[name], value.numpy()), name.endswith('.codes'), name)

    def test_the_mixers_of_a_mamba_are_codes_too(self):
        teacher = small_mamba(heads=2).requires_grad_(False)
        pack = pack_of(teacher, 'granitehybrid')
        student = coded(teacher, 'granitehybrid', pack)
        np.testing.assert_array_equal(student.stored()['layers.1.ssm_in_dt.weight.codes'], pack['layers.1.ssm_in_dt.weight.codes'].numpy())
        student(torch.randint(64, (1, 32))).sum().backward()
        self.assertGreater(float(student.matrices['layers 0 in_proj'].code.grad.abs().sum()), 0)


class FinetuneTest(unittest.TestCase):
    """Leaving a grid."""

    def test_weights_leave_their_grid_while_the_loss_falls(self):
        model = small_llama()
        model.load_state_dict(snap(model))
        windows = torch.arange(33 * 8).reshape(8, 33) % 60
        losses = list(finetune(model, windows, 30, 8, 3e-3))
        self.assertLess(np.mean(losses[-5:]), 0.8 * np.mean(losses[:5]))
        down = model.layers[0].down.detach()
        self.assertGreater(float((quantise_w4(down) - down).abs().mean()), 1e-4)


class LoraTest(unittest.TestCase):
    """Adapters."""

    def test_an_adapter_begins_as_nothing_learns_and_its_parts_are_the_change(self):
        torch.manual_seed(2)
        model = small_llama()
        ids = torch.arange(33)[None] % 60
        before = model(ids)
        lora = Lora(model, 4, 8)
        self.assertTrue(torch.equal(model(ids), before))
        optimizer = torch.optim.SGD(lora.parameters(), 0.5)
        for _ in range(3):
            loss = model.loss(ids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.assertLess(float(model.loss(ids)), float(torch.nn.functional.cross_entropy(before[0, :-1], ids[0, 1:])))
        tensors = lora.tensors()
        at = 'base_model.model.model.layers.1.self_attn.k_proj.lora_'
        change = 2 * tensors[at + 'B.weight'] @ tensors[at + 'A.weight']
        down, up = lora.pairs['layers.1.qkv']
        np.testing.assert_allclose(change, (2 * up @ down).detach().numpy()[64:96], atol=1e-6)
        self.assertEqual(len(tensors), 2 * 7 * 2)


if __name__ == '__main__':
    unittest.main()
