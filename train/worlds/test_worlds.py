"""Tests of the dialogue generator. In: seeds. Out: passes if documents are well-formed, true to the request, unjudged."""
import json
import random
import re
import unittest

from worlds import about, prose, stories, tools, units
from worlds.__main__ import LONGEST, documents
from worlds.judged import bare, holds, judged_prompts
from worlds.say import message
from worlds.world import World

TALE = ('Once upon a time, there was a little cat named Mittens. Mittens had a red ball. Mittens liked the ball very much. One day the '
        'ball was gone.\n\nMittens looked in the garden. There was the ball, in the garden, near a tree. Mittens was happy. "I found my '
        'ball!" said Mittens. Then Mittens went home and slept with the ball.')


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
        self.assertEqual(len(judged), 30)
        self.assertTrue(holds([message('user', 'who are YOU')], judged))
        for document in self.documents:
            self.assertFalse(holds(document['messages'], judged))

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
                    expression = call['arguments']['expression']
                    self.assertRegex(expression, r'^-?[\d.]+ [-+*/] [\d.]+$')
                    result = json.loads(after['content'])
                    result = result['result'] if isinstance(result, dict) else result
                    self.assertAlmostEqual(float(result), eval(expression), places=3)  # noqa: S307, digits and one sign
        self.assertGreater(called, 100)

    def test_answers_repeat_the_result(self):
        rng = random.Random(3)
        for _ in range(300):
            *_, result, answer = tools.calculation(rng)
            value = json.loads(result['content'])
            value = value['result'] if isinstance(value, dict) else value
            self.assertIn(tools.plain(value) if isinstance(value, int) else str(value), answer['content'])

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
