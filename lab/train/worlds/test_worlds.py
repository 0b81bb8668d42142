"""Tests of the dialogue generator. In: seeds. Passes if documents are well-formed, match their request and contain no
evaluation prompt."""
import json
import random
import re
import unittest
from fractions import Fraction

from worlds import about, arithmetic, held, problems, prose, stories, strange, tools, units
from worlds.__main__ import LONGEST, documents
from worlds.judged import HELD, bare, holds, judged_prompts
from worlds.say import message
from worlds.world import World

TALE = ('Once upon a time, there was a little cat named Mittens. Mittens had a red ball. Mittens liked the ball very much. One day the '
        'ball was gone.\n\nMittens looked in the garden. There was the ball, in the garden, near a tree. Mittens was happy. "I found my '
        'ball!" said Mittens. Then Mittens went home and slept with the ball.')


#: Words that stand for a number of an expression.
MEANT = {'half': '2', 'halve': '2', 'twice': '2', 'double': '2', 'third': '3', 'triple': '3', 'quarter': '4', 'squared': '2', 'cubed': '3', 'dozen': '12'}


SPOKEN = {arithmetic.spoken(n): n for n in range(10000)}


def exact(expression):
    """The value of an expression, computed with fractions."""
    signs = re.sub(r'(\d+(?:\.\d+)?)(%?)', lambda m: f"(Fraction('{m[1]}')/{100 if m[2] else 1})", expression).replace('^', '**')
    return eval(signs, {'Fraction': Fraction})  # noqa: S307, only figures and signs


def numbers_of(question):
    """The numbers that a question names, in figures or words."""
    low = re.sub(r'(\d),(?=\d{3}(?!\d))', r'\1', question.lower())
    low = re.sub(r'(\d),(\d)', r'\1.\2', low)
    found = {Fraction(n) for n in re.findall(r'\d+(?:\.\d+)?', low)}
    named = {n for name, n in SPOKEN.items() if name in low} if re.search('|'.join(arithmetic.ONES + arithmetic.TENS), low) else set()
    return found | {Fraction(n) for n in named} | {Fraction(n) for word, n in MEANT.items() if word in low}


def some(count, seed, told=None):
    return list(documents(count, seed, told))


class WorldsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = some(1500, 5)

    def test_equal_seeds_give_equal_bytes(self):
        first, again, other = (json.dumps(some(60, seed)) for seed in (7, 7, 8))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_no_document_twice_and_none_too_long(self):
        texts = [json.dumps(d['messages']) for d in self.documents if d['messages'][0]['role'] != 'system' and 'tools' not in d]
        self.assertEqual(len(texts), len(set(texts)))
        self.assertLessEqual(max(sum(len(m['content']) for m in d['messages']) for d in self.documents), LONGEST)

    def test_no_judged_prompt(self):
        judged = judged_prompts()
        self.assertGreater(len(judged), 220)
        self.assertTrue(holds([message('user', 'who are YOU')], judged))
        self.assertTrue(holds([message('user', 'a story about two Pigeons')], judged))
        self.assertTrue(holds([message('user', 'TELL ME A STORY')], judged))
        self.assertFalse(holds([message('user', 'Tell me a story')], judged))
        for document in self.documents:
            self.assertFalse(holds(document['messages'], judged))

    def test_held_out_questions_are_those_of_their_seed_and_right(self):
        committed = json.loads(HELD.read_text(encoding='utf-8'))
        self.assertEqual(held.questions(), committed)
        self.assertEqual(len({json.dumps(q['turns']) for q in committed['sums']}), 200)
        for question in committed['sums']:
            if 'expression' in question:
                self.assertAlmostEqual(question['result'], float(exact(question['expression'])))
                self.assertLessEqual({Fraction(n) for n in re.findall(r'\d+(?:\.\d+)?', question['expression'])}, numbers_of(question['turns'][0]))
        for question in committed['known'] + committed['stories']:
            self.assertTrue(all(word.lower() in question['prompt'].lower() for word in question['words']))

    def test_roles_take_turns(self):
        for document in self.documents:
            roles = ''.join(m['role'][0] for m in document['messages'])
            self.assertRegex(roles, r'^s?(u(at)?a)+$')
            self.assertTrue(all(m['content'].strip() for m in document['messages']))

    def test_calls_parse_name_a_given_tool_and_are_right(self):
        called = 0
        for document in self.documents:
            given = {t['function']['name'] for t in document.get('tools', [])}
            for this, after in zip(document['messages'], document['messages'][1:]):
                if not this['content'].startswith('<tool_call>'):
                    continue
                called += 1
                call = json.loads(re.fullmatch(r'<tool_call>\n(.*)\n</tool_call>', this['content'])[1])
                self.assertIn(call['name'], given)
                self.assertEqual(after['role'], 'tool')
                if call['name'] == 'calculate':
                    value = exact(call['arguments']['expression'])
                    result = json.loads(after['content'])
                    result = result['result'] if isinstance(result, dict) else result
                    self.assertAlmostEqual(float(result) / max(1, abs(float(value))), float(value) / max(1, abs(float(value))), places=8)
        self.assertGreater(called, 100)

    def test_a_sum_has_only_numbers_of_its_question_or_of_the_result_before(self):
        rng, kinds = random.Random(3), set()
        for _ in range(1500):
            before = set()
            messages = tools.calculation(rng)
            for ask, call, result, answer in zip(*(messages[i::4] for i in range(4))):
                expression = json.loads(call['content'].split('\n')[1])['arguments']['expression']
                used = {Fraction(n) for n in re.findall(r'\d+(?:\.\d+)?', expression)}
                self.assertLessEqual(used, numbers_of(ask['content']) | before, (ask['content'], expression))
                value = json.loads(result['content'])
                value = arithmetic.plain(float(value['result'] if isinstance(value, dict) else value))
                self.assertIn(value, answer['content'])
                before.add(abs(Fraction(value)))
                kinds.update(re.findall(r'[-+*/^%(]', expression))
        self.assertEqual(kinds, set('-+*/^%('))

    def test_values_are_written_as_the_page_writes_them(self):
        for expression, value in (('0.1 + 0.2', '0.3'), ('10 / 4', '2.5'), ('13 + 53 / 19', '15.78947368'), ('(2 + 3) * 4', '20'), ('15% * 240', '36'),
                                  ('80 - 25% * 80', '60'), ('2 ^ 10', '1024'), ('5 - 5', '0')):
            self.assertEqual(arithmetic.value_of(expression), value)
        with self.assertRaises(ValueError):
            arithmetic.value_of('__import__("os")')

    def test_word_problems_leave_no_place_unfilled(self):
        rng = random.Random(8)
        for _ in range(600):
            question, expression = problems.problem(rng)
            self.assertNotRegex(question, r'[{}]')
            self.assertLessEqual({Fraction(n) for n in re.findall(r'\d+', expression)}, numbers_of(question))

    def test_other_languages_and_work_for_others_are_declined(self):
        rng = random.Random(9)
        for maker, said in ((strange.foreign, 'English|language'), (strange.work, 'cannot|not good|too hard|only know')):
            for _ in range(200):
                ask, answer = maker(rng)
                self.assertRegex(answer, said)
                self.assertNotRegex(ask, r'\b[XN]\b')

    def test_conversions_known_elsewhere(self):
        self.assertEqual(units.rounded(12 * 1609.344 / 1000), 19.31)
        factor = {many: (f, i) for i, group in enumerate(units.GROUPS) for _, many, f in group}
        rng = random.Random(4)
        for _ in range(500):
            ask, value, source, target, result, _ = units.conversion(rng)
            if source in factor:
                self.assertEqual(factor[source][1], factor[target][1])
                self.assertAlmostEqual(result, value * factor[source][0] / factor[target][0], delta=max(0.006, 0.01 * result))
            self.assertIn(str(value), ask)

    def test_asked_for_things_are_in_the_story(self):
        for seed in range(400):
            rng = random.Random(seed)
            world = World(rng)
            ask, story = stories.request(rng, world).lower(), world.story().lower()
            self.assertIn(world.kind, story)
            skill = f'to {world.skill}' if f'to {world.skill}' in ask else f'not {world.skill}'
            self.assertTrue(skill not in ask or world.skill in story)
            for fact in (world.name or world.kind, world.noun, world.seed, world.fear):
                if re.search(rf'\b{fact.lower()}\b', ask):
                    self.assertIn(fact.lower(), story)
            self.assertNotIn('{', story)
            self.assertNotRegex(story, r'\ba [aeio]|\ban [^aeiouh]|  ')

    def test_a_changed_name_changes_nothing_else(self):
        for seed in range(200):
            rng = random.Random(seed)
            world = World(rng)
            if world.name:
                before, old = world.story(), world.name
                _, after = stories.change_name(rng, world)
                self.assertEqual(re.sub(rf'\b{old}\b', world.name, before), after)

    def test_requests_for_existing_stories_name_what_they_hold(self):
        story = prose.Story(TALE)
        self.assertEqual((story.name, story.kind), ('Mittens', 'cat'))
        self.assertIn('ball', story.things)
        for seed in range(100):
            ask = bare(prose.request(random.Random(seed), story))
            self.assertTrue(any(word in ask for word in ('mittens', 'cat', 'ball', 'garden')))
            self.assertNotRegex(ask, r'\b(dog|kite|river)\b')

    def test_it_never_denies_privacy(self):
        for _, answers in about.PAIRS:
            if 'sent' in answers:
                self.assertNotRegex(answers, r'(^|\| )No\b')


if __name__ == '__main__':
    unittest.main()
