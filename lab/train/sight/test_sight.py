"""Tests the pictures, the tower and its file."""
import struct
import unittest
import zlib

import numpy as np
import torch

from sight.mmproj import mmproj, q8_0
from sight.questions import KINDS, NUMBERS, ask, asked, beside, held_cells
from sight.scenes import CELL, CELLS, COLOURS, EMPTY, PAINT, SHAPES, SIDE, distance, draw, is_held, name_of, png, scene
from sight.see import neighbours
from sight.tell import Prompts, batch_of
from sight.tower import Tower, patches

THINGS = len(COLOURS) * len(SHAPES)


class QuestionTest(unittest.TestCase):
    """Tests the questions and their answers."""

    def test_answers_are_what_the_picture_has(self):
        rng, kinds = np.random.default_rng(5), set()
        for number in range(400):
            cells = scene(rng, held=number % 2 == 1)
            names = {' '.join(name_of(thing)): cell for cell, thing in enumerate(cells) if thing != EMPTY}
            kind = KINDS[number % len(KINDS)]
            one = ask(rng, cells, kind, among=held_cells(cells) if number % 2 else None)
            if one is None:
                continue
            question, answer, _ = one
            kinds.add(kind)
            if question.startswith('What is '):
                name = question.split(' the ')[1].rstrip('?')
                found = beside(cells, names[name], kind)
                self.assertEqual(answer, 'Nothing.' if found == EMPTY else f'A {" ".join(name_of(found))}.')
            elif kind == 'there':
                self.assertEqual(answer, 'Yes.' if question[len('Is there a '):-1] in names else 'No.')
            elif kind == 'count':
                shape = question.split()[2].rstrip('s')
                self.assertEqual(answer, f'{NUMBERS[sum(name.endswith(shape) for name in names)]}.')
            else:
                about = question.split('the ')[1].split()[0].rstrip('?')
                found = [name.split()[kind == 'shape'] for name in names if about in name.split()]
                self.assertEqual([answer.split()[-1].rstrip('.').lower()], found)
        self.assertEqual(kinds, set(KINDS))

    def test_a_question_sees_the_picture_and_itself(self):
        class Words:
            """Each letter is a piece."""

            specials = {'<|user|>': 5, '<|assistant|>': 6}
            ids = property(lambda self: None)

            def encode(self, answer):
                """Ids of an answer."""
                return [10 + len(answer)]

        words = Words()
        words.tokenizer = type('T', (), {'model': type('M', (), {
            'tokenize': staticmethod(lambda text: [type('P', (), {'id': 20})() for _ in text[:3]])})})
        rng = np.random.default_rng(1)
        questions = [asked(rng, scene(rng), 3), asked(rng, scene(rng), 1)]
        ids, places, seen, own, look = batch_of(Prompts(words), rng, questions)
        first = 2 + CELLS
        each = (ids.shape[1] - first) // 3
        starts = [first + number * each for number in range(3)]
        for number, start in enumerate(starts):
            row = seen[0, 0, start + each - 1]
            self.assertTrue(row[:first].all())
            self.assertEqual(row[first:].nonzero().flatten().tolist(), list(range(start - first, start - first + each)))
            self.assertEqual(places[0, start].item(), first)
            self.assertTrue(own[0, start + each - 1])
        self.assertFalse(seen[1, 0, :, starts[1]:].all())
        self.assertFalse(own[1, starts[1]:].any())


class SceneTest(unittest.TestCase):
    """Tests the contents and the drawing of pictures."""

    def test_training_never_has_what_is_held_out(self):
        rng = np.random.default_rng(3)
        seen = {(thing, cell) for _ in range(3000) for cell, thing in enumerate(scene(rng)) if thing != EMPTY}
        held = {(thing, cell) for thing in range(THINGS) for cell in range(CELLS) if is_held(thing, cell)}
        self.assertEqual(len(held), 2 * THINGS)
        self.assertEqual(len(seen), THINGS * CELLS - len(held))
        self.assertFalse(seen & held)
        for _ in range(50):
            cells = scene(rng, held=True)
            self.assertTrue(any((thing, cell) in held for cell, thing in enumerate(cells)))
            things = cells[cells != EMPTY]
            self.assertEqual(len(set(things)), len(things))

    def test_a_seed_is_a_picture_in_its_colours(self):
        for thing in range(THINGS):
            cells = np.full(CELLS, EMPTY)
            cells[4] = thing
            one, two = (draw(np.random.default_rng(thing), cells, noise=0) for _ in range(2))
            self.assertTrue((one == two).all())
            inside = one[CELL:2 * CELL, CELL:2 * CELL].reshape(-1, 3).astype(float) / 255
            wanted = PAINT[COLOURS.index(name_of(thing)[0])]
            near = np.abs(inside - wanted).max(1) < 0.25
            self.assertGreater(near.sum(), 60)
            self.assertGreater(one[:CELL].min(), 180)

    def test_shapes_have_their_areas(self):
        x = (np.arange(800) + 0.5) / 400 - 1
        areas = {'circle': 0.81 * np.pi, 'square': 2.25, 'triangle': 1.299, 'star': 2.25 * np.sin(np.pi / 5)}
        for shape in SHAPES:
            inside = distance(shape, *np.meshgrid(1.1 * x, 1.1 * x)) < 0
            self.assertAlmostEqual(inside.mean() * 2.2 ** 2, areas[shape], delta=0.02)

    def test_png_has_the_pixels(self):
        picture = draw(np.random.default_rng(1), scene(np.random.default_rng(2)), scale=2)
        data = png(picture)
        self.assertEqual(struct.unpack('>II', data[16:24]), (2 * SIDE * CELL,) * 2)
        at = data.index(b'IDAT')
        length, = struct.unpack('>I', data[at - 4:at])
        rows = np.frombuffer(zlib.decompress(data[at + 4:at + 4 + length]), np.uint8).reshape(len(picture), -1)
        self.assertTrue((rows[:, 1:] == picture.reshape(len(picture), -1)).all())

    def test_neighbours_end_at_the_edge(self):
        found = neighbours(np.arange(CELLS))
        self.assertEqual(found[0].tolist(), [0, EMPTY, 1, EMPTY, 3])
        self.assertEqual(found[5].tolist(), [5, 4, EMPTY, 2, 8])


class TowerTest(unittest.TestCase):
    """Tests the tower and its file."""

    def test_a_patch_is_a_cell_by_channels(self):
        picture = torch.randint(256, (1, SIDE * CELL, SIDE * CELL, 3), dtype=torch.uint8)
        found = patches(picture).view(SIDE, SIDE, 3, CELL, CELL)
        cell = picture[0, CELL:2 * CELL, 2 * CELL:].permute(2, 0, 1).float() / 127.5 - 1
        self.assertTrue(torch.equal(found[1, 2], cell))

    def test_eight_bits_are_close(self):
        values = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)
        groups = np.frombuffer(q8_0(values), np.uint8).reshape(-1, 34)
        scale = groups[:, :2].copy().view(np.float16).astype(np.float32)
        read = (groups[:, 2:].copy().view(np.int8) * scale).reshape(4, 64)
        self.assertLess(np.abs(read - values).max(), np.abs(values).max() / 127)

    def test_the_file_has_every_tensor(self):
        tower = Tower(64)
        data = mmproj(tower)
        magic, version, count, keys = struct.unpack('<IIQQ', data[:24])
        self.assertEqual((magic, version), (0x46554747, 3))
        self.assertEqual(count, len(tower.state_dict()))
        self.assertEqual(keys, 15)
        for name in (b'v.patch_embd.weight', b'v.position_embd.weight', b'v.blk.2.attn_q.bias', b'mm.0.weight', b'mm.2.bias'):
            self.assertEqual(data.count(name), 1)


if __name__ == '__main__':
    unittest.main()
