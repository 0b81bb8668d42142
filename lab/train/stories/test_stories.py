"""Tests the story model's recipe: run with `python3 -m unittest discover` in lab/train/."""
import json
import random
import re
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from stories.chat import render, turn_texts
from stories.cut_vocabulary import choose, cut, teacher_of
from stories.evaluate import bits_per_byte
from stories.export import write_folder
from stories.finetune import ASKED_WEIGHT, Mixture, back, own_loss
from llama import Llama, LlamaConfig
from stories.merge import NEW_ROWS, merged
from stories.prepare import ASKED, IDS, OWN, encode_chat, encode_plain, joined, offered, unjudged, write
from stories.requests_of import request_for
from stories.spm import BOS, END, FIRST_BYTE, MARK, SPECIALS, Spm
from stories.swap import KINDS, replaced, swapped
from stories.talk import clean, cut_at, messages_of, story_chat
from worlds.judged import judged_prompts

TEACHER = Path(__file__).parent / '../inputs/stories15M-f16.gguf'
GREEDY = Path(__file__).parent / '../../../test/fixtures/stories15m-greedy.json'
JUDGED = json.loads((Path(__file__).parent / '../prompts/prompts.json').read_text(encoding='utf-8'))
WORDS = ('the cat sat on the mat and the cat ate the hat then the cats slept {"name": "calculate", "arguments": '
         '{"expression": "17 * 23"}} <tools> </tools> 0123456789')
STORY = ('Once upon a time, there was a little bird named Pip. Pip lived in a tall tree. One day, Pip found a red ball. '
         'Pip wanted to play with the ball. The ball fell in the pond. A frog gave the ball to Pip. They were happy.')


def small_teacher():
    """A vocabulary whose pieces are all the beginnings and some ends of a few words."""
    letters = sorted(set(WORDS + STORY) - {' '}) + [MARK]
    words = [MARK + w for w in sorted(set(re.findall('[a-z]+', WORDS.lower())))]
    joined_pieces = sorted({w[:i] for w in words for i in range(2, len(w) + 1)} | {'at', 'he', 'cat', 'ats'})
    pieces = ['<unk>', '<s>', '</s>', *(f'<0x{b:02X}>' for b in range(256)), *joined_pieces, *letters]
    return Spm(pieces, [-float(i) for i in range(len(pieces))])


def small_cut(size=90):
    """The vocabulary above, reduced to a number of pieces."""
    return cut(small_teacher(), choose(small_teacher(), [WORDS] * 4, size))


class CutTest(unittest.TestCase):
    """Tests the reduced vocabulary."""

    def test_every_kept_piece_is_reached(self):
        small, sources = small_cut()
        self.assertEqual([p for p in small.ids if small.pieces_of(p) != [p]], [])
        self.assertLess(len(small.ids), len(small_teacher().ids))
        self.assertEqual(len(sources), len(small.pieces))

    def test_a_piece_begins_with_its_old_embedding(self):
        teacher, (small, sources) = small_teacher(), small_cut()
        for piece, i in small.ids.items():
            self.assertEqual(sources[i], [teacher.ids[piece]])

    def test_any_text_comes_back(self):
        small, _ = small_cut()
        for text in (WORDS, ' lead', 'two  spaces\n\nlines', 'naïve 你好 🙂', ''):
            self.assertEqual(small.decode(small.encode(text)), text)

    def test_the_merge_rules_give_the_pieces_that_the_scores_give(self):
        small, _ = small_cut()
        for word in (WORDS + STORY).split():
            self.assertEqual(small.pieces_of(MARK + word), small.merge(MARK + word)[0])

    def test_specials_in_plain_text_stay_text(self):
        small, _ = small_cut()
        text = 'the <|end|> cat'
        self.assertFalse(set(small.encode(text)) & set(small.specials.values()))
        self.assertEqual(small.encode(text, specials=True).count(END), 1)
        self.assertEqual(small.decode(small.encode(text)), text)

    @unittest.skipUnless(TEACHER.exists(), 'lab/train/inputs has no stories15M-f16.gguf (lab/train/README.md says where it is from)')
    def test_the_teacher_says_what_llama_cpp_says(self):
        vocabulary, model = teacher_of(TEACHER, 256)
        for case in json.loads(GREEDY.read_text())['cases']:
            ids = [BOS, *vocabulary.encode(case['prompt'])]
            self.assertEqual(ids, case['promptTokens'])
            with torch.no_grad():
                for wanted in case['tokens'][:24]:
                    ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
                    self.assertEqual(ids[-1], wanted)


class DocumentTest(unittest.TestCase):
    """Tests conversations and their tokens."""

    def test_only_the_models_words_are_its_own(self):
        small, _ = small_cut()
        ids = encode_chat(small, [{'role': 'user', 'content': 'the cat'}, {'role': 'assistant', 'content': 'the mat'}])
        own = [i & IDS for i in ids if i & OWN]
        self.assertEqual(small.decode(own), 'the mat<|end|>')
        plain = [i & IDS for i in ids]
        self.assertEqual((plain[0], plain[-1], plain[1]), (BOS, END, small.specials['<|user|>']))
        self.assertEqual(small.decode(i & IDS for i in encode_plain(small, 'the cat')), '<|bos|> the cat<|end|>')

    def test_calls_are_one_line_between_single_tokens(self):
        small, _ = small_cut()
        written = '<tool_call>\n{"name": "calculate", "arguments": {}}\n</tool_call>'
        (_, text), = turn_texts([{'role': 'assistant', 'content': written}])
        self.assertEqual(text, '<tool_call>{"name": "calculate", "arguments": {}}</tool_call>')
        ids = small.encode(text, specials=True)
        self.assertEqual([ids[0], ids[-1]], [small.specials['<tool_call>'], small.specials['</tool_call>']])

    def test_the_tools_are_read_once_for_several_requests(self):
        def asked(text):
            return {'messages': [{'role': 'user', 'content': text}, {'role': 'assistant', 'content': 'yes'}],
                    'tools': JUDGED['tools']}
        found = list(joined([asked(str(i)) for i in range(6)]))
        self.assertEqual([len(d['messages']) for d in found], [8, 4])
        self.assertEqual([m['content'] for m in found[1]['messages']], ['4', 'yes', '5', 'yes'])

    def test_requests_name_what_the_story_has(self):
        rng = random.Random(2)
        asked = [request_for(rng, STORY) for _ in range(200)]
        self.assertTrue(all(re.search('bird|Pip|ball|tree|pond|frog', a) for a in asked if 'about' in a))
        self.assertGreater(sum('Pip' in a for a in asked), 30)
        self.assertFalse(any('dog' in a for a in asked))

    def test_another_thing_takes_every_place_of_the_old_one(self):
        self.assertEqual(replaced('A ball! The balls, an apple and the football.', 'ball', 'umbrella'), 'An umbrella! The umbrellas, an apple and the football.')
        self.assertEqual(replaced('An owl saw two owls. Owls!', 'owl', 'pony'), 'A pony saw two ponies. Ponies!')
        for seed in range(60):
            story = swapped(random.Random(seed), STORY)
            self.assertNotRegex(story, r'\ba [aeio]|\ban [^aeiou]')
            for kind in KINDS:
                of_kind = [sum(len(re.findall(rf'\b{w}\b', text.lower())) for w in kind) for text in (STORY, story)]
                self.assertEqual(*of_kind)

    def test_a_request_asks_only_for_what_its_changed_story_has(self):
        words = {w for kind in KINDS for w in kind}
        for seed in range(300):
            turns = story_chat(random.Random(seed), STORY, [[('user', 'hi'), ('assistant', 'hello')]])
            asked, told = ([m['content'].lower() for m in turns if m['role'] == role] for role in ('user', 'assistant'))
            for word in set(re.findall('[a-z]+', ' '.join(asked))) & words:
                self.assertIn(word, ' '.join(told) + ' '.join(asked if 'this' in ' '.join(asked) else []))

    def test_words_that_a_request_asks_for_are_marked_in_the_answer(self):
        small, _ = small_cut()
        ids = encode_chat(small, messages_of([('user', 'tell me of the cat'), ('assistant', 'the hat and the cat ate'), ('user', 'what is 17'),
                                              ('assistant', 'the cat 17')]))
        self.assertEqual(small.decode(i & IDS for i in ids if i & ASKED), 'cat17')
        self.assertTrue(all(i & OWN for i in ids if i & ASKED))

    def test_tools_are_offered_where_none_is_called(self):
        found = offered(random.Random(1), [messages_of([('user', 'hi'), ('assistant', 'hello')])] * 100, 0.5)
        self.assertEqual([t['function']['name'] for t in found[0]['tools']], ['calculate', 'current_date', 'convert_units'])
        self.assertTrue(30 < len(found) < 70)

    def test_no_document_holds_a_judged_prompt(self):
        judged = judged_prompts()
        fine = messages_of([('user', 'hello there'), ('assistant', 'Hi!')])
        held = [messages_of([*[('user', 'tell me more'), ('assistant', 'yes')], ('user', prompt), ('assistant', 'yes')])
                for prompt in ('hello', 'Good night!', 'what can you do')]
        self.assertEqual(unjudged([fine, *held], judged), [fine])

    def test_typography_becomes_ascii(self):
        self.assertEqual(clean('“It’s\n late—very,”  he _said_…'), '"It\'s late - very," he said...')

    def test_a_story_is_cut_between_sentences(self):
        first, second = cut_at(STORY, 0.5)
        self.assertEqual(f'{first} {second}', STORY)
        self.assertTrue(first.endswith('.'))


class TrainingTest(unittest.TestCase):
    """Tests windows and loss."""

    def test_windows_are_whole_documents_in_their_shares(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            write(out, 'long', [[BOS, *[7 | OWN] * 29] for _ in range(9)])
            write(out, 'short', [[BOS, *[8 | OWN] * 9] for _ in range(9)])
            (out / 'mixture.json').write_text('{"long": 0.75, "short": 0.25, "missing": 0.5}')
            mixture = Mixture(out, 1)
            self.assertEqual(mixture.refresh(), {'long': [0.75, 270], 'short': [0.25, 90]})
            self.assertIsNone(mixture.refresh())
            rows = mixture.windows(40, 299)
            self.assertTrue((rows[:, 0] == BOS).all())
            self.assertAlmostEqual((rows == (7 | OWN)).sum() / rows.size / 29 * 30, 0.75, delta=0.06)

    def test_the_loss_is_that_of_the_models_own_tokens(self):
        torch.manual_seed(1)
        model = Llama(LlamaConfig(vocab=64, hidden=64, layers=1, heads=2, kv_heads=2, intermediate=64, context=32))
        rows = np.array([[1, 5, 6 | OWN, 7 | OWN, 9]], dtype=np.uint16)
        with torch.no_grad():
            log = model(torch.tensor([[1, 5, 6, 7]]))[0].log_softmax(-1)
            self.assertAlmostEqual(own_loss(model, rows).item(), -(log[1, 6] + log[2, 7]).item() / 2, places=5)

    def test_asked_for_words_weigh_more_and_threads_give_the_gradients_of_the_whole(self):
        torch.manual_seed(1)
        model = Llama(LlamaConfig(vocab=64, hidden=64, layers=1, heads=2, kv_heads=2, intermediate=64, context=32))
        rows = np.array([[1, 5, 6 | OWN, 7 | OWN | ASKED, 9]], dtype=np.uint16)
        log = model(torch.tensor([[1, 5, 6, 7]]))[0].log_softmax(-1)
        wanted = -(log[1, 6] + ASKED_WEIGHT * log[2, 7]) / (1 + ASKED_WEIGHT)
        self.assertAlmostEqual(own_loss(model, rows).item(), wanted.item(), places=5)
        rows = np.concatenate([rows, rows[:, ::-1] | OWN])
        for model.qat in (False, True):
            halves = [torch.autograd.grad(own_loss(model, part), list(model.parameters())) for part in (rows[:1], rows[1:])]
            with ThreadPoolExecutor(2) as pool:
                back(model, rows, pool, 2)
            self.assertEqual(model.deltas, {})
            for parameter, one, other in zip(model.parameters(), *halves):
                torch.testing.assert_close(parameter.grad, (one + other) / 2)

    def test_a_merge_lies_between_but_keeps_the_new_rows(self):
        start, tuned = {'embed': torch.zeros(300, 4), 'a': torch.zeros(3)}, {'embed': torch.ones(300, 4), 'a': torch.ones(3)}
        state = merged(start, tuned, 0.25)
        self.assertEqual(state['a'].tolist(), [0.25] * 3)
        rows = (state['embed'] == 1).all(1).nonzero().flatten().tolist()
        self.assertEqual(rows, sorted(NEW_ROWS))
        self.assertEqual(rows, sorted(small_cut()[0].specials.values()))

    def test_bits_per_byte_of_an_even_model(self):
        small, _ = small_cut()
        model = Llama(LlamaConfig(vocab=512, hidden=32, layers=1, heads=1, kv_heads=1, intermediate=32, context=64))
        torch.nn.init.zeros_(model.embed)
        text = 'the cat'
        self.assertAlmostEqual(bits_per_byte(model, small, [text]), 9 * len(small.encode(text)) / len(text), places=4)


class EngineTest(unittest.TestCase):
    """Tests that Halfbyte reads the exported folder with the same results as Python."""

    def test_tokens_and_template_agree(self):
        small, _ = small_cut()
        torch.manual_seed(2)
        config = LlamaConfig(vocab=len(small.pieces), hidden=32, layers=1, heads=1, kv_heads=1, intermediate=32, context=64)
        call = {'id': 'a', 'function': {'name': 'calculate', 'arguments': {'expression': '17 * 23', 'more': [1, 2.5, None]}}}
        talk = [{'role': 'user', 'content': 'What is 17 times 23?'},
                {'role': 'assistant', 'content': '', 'tool_calls': [call]}, {'role': 'tool', 'content': '391'}]
        lines = [{'text': t, 'ids': small.encode(t, specials=True)} for t in (WORDS, STORY, ' a  b\n', 'naïve 🙂', render(talk))]
        for messages in (talk, talk[:1], [{'role': 'system', 'content': 'Be kind.'}, *talk]):
            for tools in (JUDGED['tools'], JUDGED['tools'][:1], []):
                lines += [{'messages': messages, 'tools': tools, 'reply': reply, 'prompt': render(messages, tools, reply)}
                          for reply in (True, False)]
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder) / 'model', Llama(config), small, False, 'f32')
            path = Path(folder) / 'examples.jsonl'
            path.write_text('\n'.join(map(json.dumps, lines)))
            run = subprocess.run(['npx', 'node', 'lab/train/stories/tokens.mjs', str(Path(folder) / 'model'), str(path)],
                                 cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False)
        self.assertIn(f'{len(lines)} examples agree', run.stdout, run.stderr)

    def test_specials_stand_behind_the_bytes(self):
        small, _ = small_cut()
        self.assertEqual([small.specials[s] for s in SPECIALS[2:]], list(range(FIRST_BYTE + 256, FIRST_BYTE + 262)))


if __name__ == '__main__':
    unittest.main()
