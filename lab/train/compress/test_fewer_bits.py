"""Tests formats with fewer bits on small random matrices: `python3 -m unittest discover` in lab/train/."""
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import torch

from compress.test_folder import write_model

try:
    from compress.fewer_bits import NORMAL, difference, factor_of, format_of, main, solve, table
    from compress.folder import matrices_of, open_folder
except ImportError:
    solve = None


def problem(rows=24, inputs=256, seed=5, samples=600):
    """A matrix, and the Hessian of correlated inputs."""
    torch.manual_seed(seed)
    x = torch.randn(samples, inputs) @ torch.randn(inputs, inputs)
    return torch.randn(rows, inputs), x.t() @ x


def damped(hessian):
    """The Hessian with damping, as the solver uses it."""
    return hessian + 0.01 * hessian.diagonal().mean() * torch.eye(len(hessian))


def cost(matrix, values, hessian):
    """The cost of the errors: the sum of e H e^T."""
    error = (matrix - values).double()
    return float((error @ damped(hessian).double() * error).sum())


@unittest.skipIf(solve is None, 'transformers and peft are not installed')
class FewerBitsTest(unittest.TestCase):
    """Tests compress.fewer_bits."""

    def test_loss(self):
        """The reported loss is the cost of the errors, and fewer bits or larger groups cost more."""
        matrix, hessian = problem()
        factor, last = factor_of(hessian), 0
        for name in ('w4_g32', 'w4_g64', 'w4_row', 'w3_g32', 'w3_g64', 'w2_g32'):
            values, loss = solve(matrix, factor, format_of(name))
            self.assertAlmostEqual(loss / cost(matrix, values, hessian), 1, places=3, msg=name)
            self.assertGreater(loss, last, name)
            last = loss

    def test_compensates(self):
        """GPTQ loses less than rounding each weight on its own."""
        matrix, hessian = problem()
        for name in ('w4_g32', 'w3m_g64', 'w2n_g32', 'w4_g32_drop30'):
            form = format_of(name)
            rounded, _ = solve(matrix, torch.eye(matrix.shape[1]), form)
            _, loss = solve(matrix, factor_of(hessian), form)
            self.assertLess(loss, 0.8 * cost(matrix, rounded, hessian), name)

    def test_levels(self):
        """A group has no more values than codes, and the dropped share is zero."""
        matrix, hessian = problem()
        for name, count in (('w2_g32', 4), ('w2m_g64', 4), ('w3n_g32', 8), ('w4_g32_drop30', 17)):
            form = format_of(name)
            values, _ = solve(matrix, factor_of(hessian), form)
            groups = values.reshape(-1, form.group)
            self.assertLessEqual(max(len(group.unique()) for group in groups), count, name)
        self.assertAlmostEqual(float((values == 0).float().mean()), 0.36, delta=0.07)

    def test_levels_of_normal(self):
        """The levels of a normal distribution are the means of the values that round to them."""
        sample = torch.randn(1_000_000, generator=torch.Generator().manual_seed(1))
        for levels in map(torch.tensor, NORMAL.values()):
            code = torch.bucketize(sample, (levels[1:] + levels[:-1]) / 2)
            for at, level in enumerate(levels):
                self.assertAlmostEqual(float(sample[code == at].mean()), float(level), delta=0.02)

    def test_bits(self):
        """Scales, minimums and masks count as bits."""
        for name, bits in (('w4_g32', 4.5), ('w3m_g32', 4), ('w2_g64', 2.25), ('w4_g32_drop30', 4.3), ('w4_row', 4.0625)):
            self.assertAlmostEqual(format_of(name).bits_of(256), bits, msg=name)
        for name in ('w5_g32', 'w4n_g32', 'w4', 'w3_g32_drop'):
            with self.assertRaisesRegex(ValueError, f'{name} is not a format'):
                format_of(name)

    def test_table(self):
        """Differences are paired, so windows that are hard for both do not count."""
        self.assertEqual(difference([10, 30], [8, 28], 2), (1.0, 0.0))
        lines = [{'name': 'original', 'tokens': 2, 'losses': [8, 28]},
                 {'name': 'w4_g32', 'bits': 4.5, 'bytes': 9e6, 'tokens': 2, 'losses': [10, 30]}]
        self.assertIn('| `w4_g32` | 4.50 | 9.0 | 22026.466 | +1.0000 ± 0.0000 |', table(lines))

    def test_command(self):
        """Each format runs once on a tiny model, in all matrices of its layers, also with layers dropped."""
        with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()) as said:
            root = Path(place)
            write_model(root / 'model', 'LlamaForCausalLM')
            (root / 'text.raw').write_text('the cat sat on the mat. ' * 60, encoding='utf-8')
            (root / 'text.jsonl').write_text(json.dumps({'text': 'a dog lay by the door. ' * 120}), encoding='utf-8')
            given = ['--model', str(root / 'model'), '--calibration', str(root / 'text.jsonl'), '--text', str(root / 'text.raw'),
                     '--windows', '2', '--chunks', '2', '--work', str(root / 'work')]
            for more in (['--formats', 'w4_g32,w2_g32'], ['--formats', 'w4_g32', '--drop-layers', '1'], ['--formats', 'w2_g32']):
                main([*given, *more])
            lines = [json.loads(line) for line in (root / 'work' / 'runs.jsonl').read_text().splitlines()]
            self.assertEqual([line['name'] for line in lines], ['original', 'w4_g32', 'w2_g32', 'w4_g32 without 1'])
            _, model = open_folder(root / 'model')
            matrices = matrices_of(model)
            self.assertIn('model.layers.0.mlp.gate_proj', matrices)
            self.assertEqual(lines[1]['bytes'], sum(layer.weight.numel() for layer in matrices.values()) * 4.5 / 8)
            self.assertEqual(lines[3]['bytes'], lines[1]['bytes'] / 2)
            self.assertGreater(lines[2]['loss'], 10 * lines[1]['loss'])
            main([*given, '--formats', 'w4_g32,w3_g32', '--survey', '1'])
            self.assertRegex(said.getvalue(), r'\| `w4_g32` \| 4\.50 \| 1\.00 \|\n\| `w3_g32` \| 3\.50 \| [345]\.')


if __name__ == '__main__':
    unittest.main()
