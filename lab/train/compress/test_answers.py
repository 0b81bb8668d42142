"""Tests training on answers: `python3 -m unittest discover` in lab/train/."""
import json
import tempfile
import unittest
from pathlib import Path

import torch

from compress.losses import confidence, given, held_loss, next_token, training_loss
from compress.text import HELD_ANSWERS, batch_of, lengths_of, split, windows_of


class Letters:
    """A tokenizer of single letters, which ends a text with 1."""
    eos_token_id = 1

    def __call__(self, text):
        return {'input_ids': [ord(letter) % 60 + 2 for letter in text]}


class InFolder(unittest.TestCase):
    """Gives each test its own folder."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = Path(place.name)

    def write(self, name, values):
        """Writes lines of JSON or other text."""
        path = self.root / name
        path.write_text('\n'.join(each if isinstance(each, str) else json.dumps(each) for each in values) + '\n', encoding='utf-8')
        return path


class AnswersTest(InFolder):
    """Windows in which only the answer counts."""

    def windows(self, count=2 * HELD_ANSWERS + 40):
        """Answers of different lengths."""
        lines = [{'text': f'Question: {i}?\nAnswer: {"yes " * (1 + i % 7)}', 'answer': f' {"yes " * (1 + i % 7)}'} for i in range(count)]
        return windows_of(self.write('text.jsonl', lines), Letters(), 40, 1000)

    def test_the_question_is_read_and_the_answer_counts(self):
        windows = self.windows()
        self.assertEqual(windows.shape, (168, 41))
        first = windows[0]
        asked = Letters()('Question: 0?\nAnswer:')['input_ids']
        self.assertEqual((~first[:len(asked)]).tolist(), asked)
        self.assertEqual(first[len(asked):len(asked) + 6].tolist(), [*Letters()(' yes ')['input_ids'], 1])
        self.assertTrue((first[len(asked) + 6:] < 0).all())
        self.assertEqual(int(lengths_of(windows)[0]), len(asked) + 6)
        self.assertTrue((given(windows) >= 0).all())
        # The longest, of 12 + 9 + 28 + 1 ids, is truncated from the left.
        self.assertEqual(windows[6].tolist()[-1], 1)

    def test_the_loss_is_that_of_the_answers_tokens(self):
        rows = self.windows()[:3]
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Embedding(64, 8), torch.nn.Linear(8, 64))
        odds = torch.log_softmax(model(given(rows)), -1)
        each = [-odds[r, t, rows[r, t + 1]] for r in range(3) for t in range(40) if rows[r, t + 1] >= 0]
        self.assertAlmostEqual(float(next_token(model(given(rows)), rows)), float(sum(each) / len(each)), places=5)
        self.assertAlmostEqual(held_loss(model, rows), float(sum(each) / len(each)), places=5)
        self.assertAlmostEqual(confidence(model, [rows]), float(sum(torch.exp(-value) for value in each) / len(each)), places=5)
        self.assertAlmostEqual(float(training_loss(model, model, rows, 0.5).detach()), 0, places=5)

    def test_a_round_has_every_answer_once_beside_others_of_its_length(self):
        windows = self.windows()
        own, held = split(windows, 1)
        self.assertEqual((len(own), len(held)), (104, HELD_ANSWERS))
        self.assertTrue(torch.equal(held, windows[-HELD_ANSWERS:]))
        for first in (0, 13):
            batches = [batch_of(own, 8, 5, step) for step in range(first, first + 13)]
            read = sorted(tuple(row.tolist()) + (~0,) * (41 - len(row)) for batch in batches for row in batch)
            self.assertEqual(read, sorted(map(tuple, own.tolist())))
            self.assertGreater(len({batch.shape[1] for batch in batches}), 3)
        rounds = [[batch_of(own, 8, seed, step).tolist() for step in range(first, first + 13)] for seed, first in ((5, 0), (5, 13), (6, 0), (5, 0))]
        self.assertEqual([each == rounds[0] for each in rounds], [True, False, False, True])

    def test_lines_of_two_kinds_and_few_answers_are_refused(self):
        good = {'text': 'a b', 'answer': ' b'}
        for bad in ({'text': 'a b'}, {'text': 'a b', 'answer': ' c'}, {'text': 'a b', 'answer': ''}):
            with self.assertRaisesRegex(ValueError, 'line 2 of .* has no text that ends with its answer'):
                windows_of(self.write('bad.jsonl', [good, bad]), Letters(), 40, 9)
        with self.assertRaisesRegex(ValueError, 'has 3 answers, of which 64 are held out; give more than 128'):
            windows_of(self.write('few.jsonl', [good] * 3), Letters(), 40, 9)


if __name__ == '__main__':
    unittest.main()
