"""Tests training at low bits on tiny random models: `python3 -m unittest discover` in lab/train/."""
import contextlib
import io
import json
import math
import resource
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch import nn
from torch.nn.utils import parametrize

from compress.test_fewer_bits import problem
from compress.test_folder import WithTexts, write_model

try:
    import transformers
    from compress.fewer_bits import factor_of
    from compress.folder import open_folder
    from compress.losses import cakld
    from lowbits import blocks, curve, grid, head, layout, memory, mix, pattern, states, whole
    from lowbits.__main__ import main
except ImportError:
    transformers = None


class Stop(Exception):
    """Stands for a kill."""


@contextlib.contextmanager
def stopped_at(module, name, calls):
    """Raises Stop at a call of a function, by its number."""
    real, count = getattr(module, name), 0

    def counted(*args):
        nonlocal count
        count += 1
        if count == calls:
            raise Stop
        return real(*args)

    with mock.patch.object(module, name, counted):
        yield


@unittest.skipIf(transformers is None, 'transformers and peft are not installed')
class GridTest(unittest.TestCase):
    """lowbits.grid."""

    def test_formats(self):
        """Scales and zero points count as bits; other names are rejected."""
        for name, bits in (('w3z_g64', 3.3125), ('w4z_g64', 4.328125), ('w2z_g32', 2.59375), ('w3z_g32s6', 3.3125)):
            self.assertAlmostEqual(grid.format_of(name).bits_per_weight, bits)
        for name in ('w3_g64', 'w9z_g64', 'w3z_g0', 'w3z', 'w3z_g64s3'):
            with self.assertRaisesRegex(ValueError, f'{name} is not a format'):
                grid.format_of(name)
        with self.assertRaisesRegex(ValueError, 'a row has 128 weights, which is not a multiple of the group, 48'):
            grid.solve(problem(inputs=128, samples=400)[0], torch.eye(128), grid.format_of('w3z_g48'))

    def test_solve(self):
        """Codes, scales and zero points can be stored, and GPTQ loses less than rounding."""
        matrix, hessian = problem(inputs=128, samples=400)
        for name in ('w4z_g64', 'w3z_g32', 'w2z_g64', 'w3z_g32s6'):
            form, costs = grid.format_of(name), []
            for factor in (torch.eye(128), factor_of(hessian)):
                codes, scales, zeros, _ = grid.solve(matrix, factor, form)
                self.assertTrue(torch.equal(codes, codes.round().clamp(0, form.top)))
                self.assertTrue(torch.equal(zeros * 2, (zeros * 2).round().clamp(0, 2 * form.top)))
                self.assertTrue(torch.equal(scales, form.stored(scales)))
                wide = [each.repeat_interleave(form.group, 1) for each in (scales, zeros)]
                error = (codes - wide[1]) * wide[0] - matrix
                costs.append(float((error @ hessian * error).sum()))
            self.assertLess(costs[1], 0.8 * costs[0], name)

    def test_short_scales(self):
        """Scales of 4 bits are whole multiples, 1 to 15, of a unit per row, near the given ones and unchanged by a second pass."""
        torch.manual_seed(1)
        scales = torch.rand(8, 16) + 0.05
        found = grid.format_of('w3z_g32s4').stored(scales)
        self.assertLessEqual(float((found - scales).abs().max()), float(scales.max()) / 15 / 2 + 1e-3)
        counts = found / found.amax(1, keepdim=True) * 15
        torch.testing.assert_close(counts, counts.round().clamp(1, 15))
        self.assertTrue(torch.equal(grid.format_of('w3z_g32s4').stored(found), found))
        self.assertFalse(grid.format_of('w3z_g32s4').stored(torch.zeros(2, 3)).isnan().any())

    def test_starts_at_its_codes(self):
        """A layer on the grid has exactly the solved values, also after saving and loading."""
        for name in ('w3z_g32', 'w3z_g32s6'):
            self.require_same_values(name)

    def require_same_values(self, name):
        """One format of the test above."""
        matrix, hessian = problem(inputs=128, samples=400)
        form = grid.format_of(name)
        solved = grid.solve(matrix, factor_of(hessian), form)
        layer, again = nn.Linear(128, 24, bias=False), nn.Linear(128, 24, bias=False)
        layer.weight.data = matrix.clone()
        grid.put_on_grid(layer, solved, form)
        wide = [each.repeat_interleave(32, 1) for each in solved[1:3]]
        self.assertTrue(torch.equal(layer.weight, (solved[0] - wide[1]) * wide[0]))
        grid.load(again, grid.state_of(layer), form)
        self.assertTrue(torch.equal(layer.weight, again.weight))

    def test_patterns(self):
        """The units with the highest sums of scores stay: of each run of a row with N:M, of all with strips and blocks."""
        torch.manual_seed(1)
        scores = torch.rand(32, 64)
        for name, units in (('2:4', scores), ('1:8', scores), ('sv32@0.5', scores.reshape(32, 2, 32).sum(2)),
                            ('sb84@0.75', scores.reshape(8, 4, 8, 8).sum((1, 3)))):
            form = pattern.pattern_of(name)
            rivals = units.reshape(-1, form.of, 64) if form.of else units.reshape(1, -1, 1)
            least = rivals.sort(1, descending=True).values[:, round(form.share * rivals.shape[1]) - 1][:, None]
            expected = (rivals >= least).reshape(units.shape)
            expected = expected.repeat_interleave(form.width, 0).repeat_interleave(form.height, 1)
            self.assertTrue(torch.equal(form.kept(scores), expected), name)
            self.assertEqual(form.mask_bits(scores.numel()), units.numel())
        for name in ('4:4', '0:4', 'sv32', 'sv32@1.5', 'sv16@0.5'):
            with self.assertRaisesRegex(ValueError, f'{name} is not a pattern'):
                pattern.pattern_of(name)
        with self.assertRaisesRegex(ValueError, '24 outputs x 32 inputs are not whole units of 32 x 1'):
            pattern.pattern_of('sv32@0.5').kept(scores[:, :24])

    def test_solve_prunes(self):
        """The mask stays after saving, dropped weights are zero, and SparseGPT's mask loses less than that of magnitude."""
        matrix, hessian = problem(rows=64, inputs=128, samples=400)
        form = grid.format_of('w8z_g32')
        for name in ('2:4', 'sv32@0.5', 'sb84@0.5'):
            costs, layer = [], nn.Linear(128, 64, bias=False)
            for factor in (torch.eye(128), factor_of(hessian)):
                layer.weight = nn.Parameter(matrix.clone())
                solved = grid.solve(matrix, factor, form, pattern.pattern_of(name))
                self.assertEqual(int(solved.kept.sum()), matrix.numel() // 2, name)
                grid.put_on_grid(layer, solved, form)
                error = layer.weight.detach() - matrix
                costs.append(float((error @ hessian * error).sum()))
                self.assertFalse(layer.weight[~solved.kept].any())
                again = nn.Linear(128, 64, bias=False)
                grid.load(again, grid.state_of(layer), form)
                self.assertTrue(torch.equal(again.weight, layer.weight))
                parametrize.remove_parametrizations(layer, 'weight')
            self.assertLess(costs[1], costs[0], name)

    def test_gradients(self):
        """They are those of straight-through rounding, written with autograd's own operations."""
        torch.manual_seed(1)
        code = (torch.randn(3, 2, 8) * 5 + 3).double().requires_grad_(True)
        scale, zero = (torch.rand(3, 2, 1).double().requires_grad_(True) for _ in range(2))
        inside = code.clamp(0, 7)
        plain = (inside + (inside.round() - inside).detach() - zero) * scale
        towards = torch.randn(3, 2, 8).double()
        ours = grid.Values.apply(code, scale, zero, 7)
        self.assertTrue(torch.equal(ours, plain))
        for mine, other in zip(*(torch.autograd.grad((each * towards).sum(), (code, scale, zero)) for each in (ours, plain))):
            torch.testing.assert_close(mine, other)


    def test_layouts(self):
        """The last exception that matches counts; a JSON file says the same."""
        form = layout.layout_of('w3z_g64,v_proj=w4z_g32,29.*=w8z_g64,29.mlp.down_proj=w2z_g64')
        found = [form(at, name).bits for at, name in ((0, 'mlp.up_proj'), (0, 'self_attn.v_proj'), (29, 'self_attn.v_proj'),
                                                      (29, 'mlp.down_proj'), (9, 'mlp.down_proj'))]
        self.assertEqual(found, [3, 4, 8, 2, 3])
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / 'layout.json'
            place.write_text('{"*": "w3z_g64", "29.mlp.down_proj": "w4z_g64"}', encoding='utf-8')
            form = layout.layout_of(str(place))
            self.assertEqual([form(at, 'mlp.down_proj').bits for at in (28, 29)], [3, 4])
        with self.assertRaisesRegex(ValueError, 'begin with the format of all other matrices'):
            layout.layout_of('v_proj=w4z_g32')
        with self.assertRaisesRegex(ValueError, 'w3 is not a format'):
            layout.layout_of('w3z_g64,v_proj=w3')

    def test_curve(self):
        """The fit finds a known slope, and its error covers what noise adds."""
        noise = 0.01 * torch.randn(400, generator=torch.Generator().manual_seed(1)).double()
        losses = 0.5 - 0.04 * torch.arange(1, 401).double().log() + noise
        level, slope, covariance = curve.fit(losses.tolist(), 50)
        self.assertAlmostEqual(slope, -0.04, delta=3 * float(covariance[1, 1]) ** 0.5)
        self.assertAlmostEqual(level, 0.5 - 0.04 * math.log(400), delta=3 * float(covariance[0, 0]) ** 0.5)
        self.assertLess(float(covariance[1, 1]) ** 0.5, 0.005)
        with self.assertRaisesRegex(ValueError, '55 steps leave 5 after the first 50'):
            curve.fit(losses[:55].tolist(), 50)


@unittest.skipIf(transformers is None, 'transformers and peft are not installed')
class HeadTest(unittest.TestCase):
    """lowbits.head."""

    def test_gradient(self):
        """A chunk's loss and gradient are those of autograd."""
        torch.manual_seed(1)
        ours, theirs = (torch.randn(5, 40).double() * 3 for _ in range(2))
        for gamma in (0, 0.3, 1):
            wanted = ours.clone().requires_grad_(True)
            loss = cakld(wanted, theirs, gamma)
            loss.backward()
            found, slope = head.chunk_of(ours.clone(), theirs.clone(), gamma)
            self.assertAlmostEqual(found / 5, float(loss.detach()))
            torch.testing.assert_close(slope / 5, wanted.grad)

    def test_products(self):
        """From states and tables, the loss and both gradients are those of autograd within bf16, for any chunk and in both types."""
        torch.manual_seed(1)
        states_, table, theirs, other = (torch.randn(shape) for shape in ((9, 32), (50, 32), (9, 32), (50, 32)))
        given = [each.clone().requires_grad_(True) for each in (states_, table)]
        wanted = cakld(given[0] @ given[1].t(), theirs @ other.t(), 0.4)
        slopes = torch.autograd.grad(wanted, given)
        for chunk, kind in ((128, torch.bfloat16), (4, torch.bfloat16), (4, torch.float32)):
            with mock.patch.object(head, 'CHUNK', chunk), mock.patch.object(head, 'product_type', return_value=kind):
                loss = head.divergence(*given, theirs, other.to(kind), 0.4)
                found = torch.autograd.grad(3 * loss, given)
            self.assertAlmostEqual(float(loss.detach()) / float(wanted.detach()), 1, delta=0.02)
            for mine, plain in zip(found, slopes):
                self.assertLess(float((mine / 3 - plain).norm() / plain.norm()), 0.03)


@unittest.skipIf(transformers is None, 'transformers and peft are not installed')
class TrainingTest(WithTexts):
    """The command, and both phases."""

    def setUp(self):
        super().setUp()
        (self.root / 'score.raw').write_text('the dog sat by the door. ' * 40, encoding='utf-8')

    def run_tool(self, work, *more, family='LlamaForCausalLM'):
        """Runs the command; returns the rows of its runs.jsonl."""
        if not (self.root / family).exists():
            write_model(self.root / family, family)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            main(['--model', str(self.root / family), '--text', str(self.root / 'text.jsonl'),
                  '--score', str(self.root / 'score.raw'), '--chunks', '2', '--layers', 'w2z_g32', '--table', 'w3z_g32',
                  '--length', '32', '--windows', '40', '--work', str(self.root / work), *more])
        self.said = said.getvalue()
        return {line['name']: line for line in map(json.loads, (self.root / work / 'runs.jsonl').read_text().splitlines())}

    def require_falling_losses(self):
        """Each block's distance and the whole model's divergence fell in the last run."""
        lines = self.said.splitlines()
        self.assertRegex(self.said, r'block 2 of 2: distance .* s left')
        for line in lines:
            if line.startswith('block'):
                first, last = (float(each) for each in line.split('distance ')[1].split(',')[0].split(' to '))
                self.assertLess(last, first, line)
        told = [float(line.split('divergence ')[1].split(';')[0]) for line in lines if 'divergence' in line]
        self.assertLess(told[-1], 0.9 * told[0])

    def test_each_phase_comes_closer(self):
        """Both phases lower what they minimise, in models with and without sliding windows; the folder has the student's logits."""
        last = 'w2z_g32 w3z_g32 whole 40'
        for family in ('LlamaForCausalLM', 'Gemma3ForCausalLM'):
            with self.subTest(family):
                to = self.root / family / 'out'
                rows = self.run_tool(family + '-low', '--epochs', '6', '--steps', '40', '--whole-code-rate', '0.01',
                                     '--whole-scale-rate', '0.01', '--write', str(to), family=family)
                self.assertEqual(list(rows), ['original', 'w2z_g32 w3z_g32 blocks', last])
                self.require_falling_losses()
                _, plain = open_folder(to)
                matrices = sum(p.numel() for name, p in plain.named_parameters() if 'layers' in name and p.ndim == 2)
                vectors = sum(p.numel() for p in plain.parameters() if p.ndim == 1)
                self.assertEqual(rows[last]['bytes'], round((matrices * 2.59375 + 128 * 64 * 3.625) / 8) + 4 * vectors)
                groups = plain.model.layers[1].mlp.up_proj.weight.detach().reshape(-1, 32)
                self.assertLessEqual(max(len(group.unique()) for group in groups), 4)
                again = self.run_tool(family + '-again', '--rounded', family=f'{family}/out')
                torch.testing.assert_close(torch.tensor(again['original']['losses']), torch.tensor(rows[last]['losses']))

    def test_continues_where_it_stopped(self):
        """A run that was stopped in either phase ends like one that was not, bit for bit, and other options are rejected."""
        options = ('--epochs', '1', '--steps', '6')
        rows = self.run_tool('whole', *options)
        with mock.patch.object(whole, 'SAVE_EVERY', 2):
            for module, name, calls in ((blocks, 'compress_block', 2), (whole, 'step_of', 6)):
                with stopped_at(module, name, calls), self.assertRaises(Stop):
                    self.run_tool('parts', *options, '--resume')
        with mock.patch.object(blocks, 'compress_block', side_effect=AssertionError):
            self.assertEqual(self.run_tool('parts', *options, '--resume'), rows)
        self.assertIn('step 5', self.said)
        self.assertNotIn('step 4', self.said)
        with self.assertRaisesRegex(ValueError, 'parts has a run; give --resume to continue it'):
            self.run_tool('parts', *options)
        with self.assertRaisesRegex(ValueError, 'parts belongs to other options or another text'):
            self.run_tool('parts', *options, '--resume', '--seed', '2')

    def test_keeps_zeros(self):
        """Both phases train a pruned model and leave its mask as it was; the row counts kept codes and a bit of mask per unit."""
        to = self.root / 'pruned'
        rows = self.run_tool('sparse', '--pattern', 'sv32@0.5', '--epochs', '6', '--steps', '40', '--whole-code-rate', '0.01',
                             '--whole-scale-rate', '0.01', '--write', str(to))
        self.require_falling_losses()
        blocks_, last = 'w2z_g32 sv32@0.5 w3z_g32 blocks', 'w2z_g32 sv32@0.5 w3z_g32 whole 40'
        self.assertEqual(list(rows), ['original', blocks_, last])
        _, plain = open_folder(to)
        count = 0
        for name, p in plain.named_parameters():
            if 'layers' in name and p.ndim == 2:
                strips = p.detach().reshape(len(p) // 32, 32, -1).ne(0).any(1)
                self.assertLessEqual(int(strips.sum()), strips.numel() // 2, name)
                count += p.numel()
        vectors = sum(p.numel() for p in plain.parameters() if p.ndim == 1)
        bits = count * (2.59375 - 2 / 2 + 1 / 32) + 128 * 64 * 3.625
        self.assertEqual(rows[last]['bytes'], round(bits / 8) + 4 * vectors)
        self.assertEqual(rows[last]['bytes'], rows[blocks_]['bytes'])
        with self.assertRaisesRegex(ValueError, 'sv32 is not a pattern'):
            self.run_tool('wrong', '--pattern', 'sv32')

    def test_rounded(self):
        """Rounding leaves the last block's output further from the float model's than GPTQ does."""
        ends = []
        for more in ((), ('--rounded',)):
            self.run_tool(f'low{len(more)}', *more)
            ends.append(float(self.said.split('stream ')[-1].split(' ')[0]))
        self.assertLess(ends[0], ends[1])

    def test_rejects_two_tables(self):
        """A model whose logits have their own matrix is rejected before any work."""
        write_model(self.root / 'untied', 'LlamaForCausalLM')
        config = json.loads((self.root / 'untied/config.json').read_text(encoding='utf-8'))
        (self.root / 'untied/config.json').write_text(json.dumps({**config, 'tie_word_embeddings': False}), encoding='utf-8')
        with self.assertRaisesRegex(ValueError, 'the logits have a matrix of their own'):
            self.run_tool('untied-low', family='untied')

    def test_time_left(self):
        """It counts the steps of this run, not those that were finished before."""
        with contextlib.redirect_stdout(io.StringIO()) as said, mock.patch.object(blocks.time, 'time', side_effect=(100, 120, 400)):
            progress = blocks.Progress(60, 'step', 30)
            progress.say(35, 'a')
            progress.say(45, 'b')
        self.assertEqual(said.getvalue(), 'step 35 of 60: a; 2 min left\nstep 45 of 60: b; 5 min left\n')

    def test_states(self):
        """They are those of the model in bf16, computed once for all runs of a folder."""
        write_model(self.root / 'model', 'LlamaForCausalLM')
        _, teacher = open_folder(self.root / 'model')
        windows = torch.arange(60).reshape(5, 12)
        for at, calls in (([3, 1], 1), ([1, 4], 1), ([4, 3], 0)):
            kept = states.States(teacher, windows, self.root / 'states')
            with mock.patch.object(teacher.model, 'forward', wraps=teacher.model.forward) as forward:
                found = kept.of(torch.tensor(at))
            self.assertEqual(forward.call_count, calls)
            with torch.no_grad():
                plain = teacher.model(input_ids=windows[at]).last_hidden_state
            torch.testing.assert_close(found.float(), plain, atol=0.05, rtol=0.05)
        other = states.States(teacher, windows + 1, self.root / 'states')
        self.assertFalse(other.done.any())

    def test_memory(self):
        """Freed memory is used again: ten large tensors, one after the other, take fewer new pages than five need."""
        memory.reuse_memory()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(10):
            torch.empty(20_000_000).fill_(1)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, 5 * 20_000_000 * 4 / resource.getpagesize())

    def test_mix(self):
        """Every word of the texts is in one piece."""
        (self.root / 'a.jsonl').write_text(json.dumps({'text': ' '.join(map(str, range(1000)))}), encoding='utf-8')
        (self.root / 'b.txt').write_text('an article\n\nanother one\n', encoding='utf-8')
        with contextlib.redirect_stdout(io.StringIO()):
            mix.main([str(self.root / 'a.jsonl'), str(self.root / 'b.txt'), '--to', str(self.root / 'mixed.jsonl'), '--letters', '300'])
        pieces = [json.loads(line)['text'] for line in (self.root / 'mixed.jsonl').read_text().splitlines()]
        self.assertEqual(sorted(' '.join(pieces).split()), sorted([*map(str, range(1000)), 'an', 'article', 'another', 'one']))
        self.assertEqual(len(pieces), 2 + 12)


if __name__ == '__main__':
    unittest.main()
