"""Tests the measurement of idle rows on a tiny random model: `python3 -m unittest discover` in lab/train/."""
import contextlib
import io
import json
import unittest

import torch

from compress.test_folder import WithTexts, write_model

try:
    import transformers
    from idle import rows as idle_rows
    from compress.fewer_bits import losses_of
    from compress.folder import open_folder
except ImportError:
    transformers = None


@unittest.skipIf(transformers is None, 'transformers and peft are not installed')
class IdleRowsTest(WithTexts):
    """idle.rows."""

    def opened(self):
        """A tiny Llama and two windows."""
        write_model(self.root / 'tiny', 'LlamaForCausalLM')
        _, model = open_folder(self.root / 'tiny')
        torch.manual_seed(1)
        return model.eval().requires_grad_(False), torch.randint(3, 90, (2, 32))

    def test_shares(self):
        """Rows of known sizes: how many carry a share of the squares, and which repeat."""
        sizes = torch.tensor([[3., 1, 0, 0], [0, 3, 1, 0]])
        self.assertEqual(idle_rows.needed(sizes, 0.9), 0.25)
        self.assertEqual(idle_rows.needed(sizes, 0.95), 0.5)
        self.assertEqual(idle_rows.needed(torch.ones(1, 4), 0.5), 0.5)
        self.assertEqual(idle_rows.repeated(sizes, 0.5), 0.5)
        self.assertEqual(idle_rows.repeated(sizes, 0.75), 0)

    def test_sizes(self):
        """A row's size is the length of what it adds to the stream."""
        model, _ = self.opened()
        down = model.model.layers[1].mlp.down_proj
        hidden = torch.zeros(1, 1, down.in_features)
        hidden[0, 0, 5] = -2
        self.assertAlmostEqual(float(idle_rows.sizes_of(model)(1, hidden)[0, 0, 5]), float(down(hidden).norm()), places=6)

    def test_skips_the_chosen_share(self):
        """Skipping nothing changes nothing; a threshold skips its share of the rows on the text that chose it, by zeros."""
        model, windows = self.opened()
        base = losses_of(model, windows)
        with idle_rows.watched_gates(model):
            for measure in (idle_rows.sizes_of(model), idle_rows.gates_of(model)):
                limits = [0.0] * 2
                self.assertEqual(idle_rows.losses_below(model, windows, measure, limits), (base, 0))
                limits = idle_rows.thresholds(model, windows[:1], measure, [0.5])[0.5]
                losses, _ = idle_rows.losses_below(model, windows, measure, limits)
                self.assertNotEqual(losses, base)
                _, skipped = idle_rows.losses_below(model, windows[:1], measure, limits[:1] + [0.0])
                self.assertAlmostEqual(skipped, 0.25, places=2)
        self.assertEqual(losses_of(model, windows), base)
        # The loss counts the second half, and the last layer's attention is before its rows.
        fixed, _ = idle_rows.losses_fixed(model, windows, idle_rows.sizes_of(model), 0.5)
        self.assertNotEqual(fixed, base)

    def test_command(self):
        """It prints a summary, the original and three rows per skipped share."""
        write_model(self.root / 'tiny', 'LlamaForCausalLM')
        (self.root / 'text.raw').write_text('the dog sat by the door. ' * 60, encoding='utf-8')
        text = str(self.root / 'text.raw')
        with contextlib.redirect_stdout(io.StringIO()) as said:
            idle_rows.main(['--model', str(self.root / 'tiny'), '--choose', text, '--score', text, '--windows', '2', '--skipped', '0.5'])
        first, *rows = map(json.loads, said.getvalue().splitlines())
        self.assertGreater(first['needed']['0.999'], first['needed']['0.9'])
        self.assertEqual([row['name'] for row in rows], ['original', 'product 0.5', 'gate 0.5', 'fixed 0.5'])
        self.assertEqual((rows[0]['difference'], rows[0]['error']), (0, 0))


if __name__ == '__main__':
    unittest.main()
