"""Dialogues for fine-tuning. In: a count, a seed and files of stories. Out: a JSONL file, one dialogue a line.

python3 -m worlds --out FILE.jsonl --documents N --seed S [--stories train.jsonl] [--teacher stories.jsonl]
"""
import argparse
import json
import os
import random

from . import about, chat, prose, schema, stories, strange, tools, unknown
from .judged import holds, judged_prompts
from .say import careless, choose, message, talk

LONGEST = 1600
SYSTEMS = ["You are Halfbyte, a friendly storyteller.", "You are Halfbyte.", "You are a friendly assistant.", "You tell stories.",
           "You are a kind storyteller for children.", "You are a helpful assistant.", "Be friendly and brief.", "Answer in simple words.",
           "You are Halfbyte, a small language model that tells stories.", "You are a helpful and honest assistant.",
           "You are Halfbyte, a small language model. You run in the browser of the user.", "Speak in short sentences."]
CLOCKLESS = ('I have no clock here, so I do not know. | I cannot see a clock or a calendar here. | I do not know. I have no clock here.')


def prose_part(rng, told):
    messages, kind = prose.dialogue(rng, told)
    return messages, kind, None


def tool_part(rng):
    if rng.random() < 0.85:
        return tools.dialogue(rng)
    if rng.random() < 0.8:
        return tools.without(rng)
    asks = choose(rng, ' | '.join((tools.DAY_ASKS, tools.DATE_ASKS, tools.TIME_ASKS)))
    return talk(careless(rng, asks), choose(rng, CLOCKLESS)), 'no-clock', None


def mixed(rng):
    """Small talk or a question about the model followed by a story, or the reverse."""
    small, _, _ = rng.choice([chat, about, unknown]).dialogue(rng)
    told, _, _ = stories.dialogue(rng)
    return (small[:4] + told[:2] if rng.random() < 0.6 else told[:2] + small[:4]), 'mixed', None


def parts(told):
    """Makers of documents and their shares in percent; without stories from files if `told` is None."""
    makers = [(stories.dialogue, 20), (chat.dialogue, 13), (about.dialogue, 9), (unknown.dialogue, 12), (tool_part, 16),
              (schema.dialogue, 3), (mixed, 4), (strange.dialogue, 10)]
    if told is None:
        makers = [(stories.dialogue, 15), (chat.dialogue, 10), (about.dialogue, 14), (unknown.dialogue, 12), (tool_part, 34),
                  (schema.dialogue, 5), (mixed, 4), (strange.dialogue, 34)]
    return makers + ([(lambda rng: prose_part(rng, told), 30)] if told else [])


def finish(rng, messages, kind, given):
    """The document, perhaps with a system message, perhaps with tools that the answer does not need."""
    if kind not in ('tool', 'other-tool') and messages[0]['role'] != 'system':
        needs = kind in ('sum', 'no-calculator', 'no-clock', 'json')
        length = sum(len(m['content']) for m in messages)
        if not needs and length < 900 and rng.random() < 0.4:
            given = tools.ALL if rng.random() < 0.7 else [rng.choice(tools.ALL)]
    document = {'messages': messages, 'kind': kind}
    if messages[0]['role'] != 'system' and rng.random() < 0.5:
        document['messages'] = [message('system', rng.choice(SYSTEMS)), *messages]
    if isinstance(given, list):
        document['tools'] = given
    return document


def documents(count, seed, told):
    """Yields `count` different documents within the length; the same seed gives the same documents."""
    rng, judged, seen = random.Random(seed), judged_prompts(), set()
    makers = parts(told)
    functions, shares = [m for m, _ in makers], [s for _, s in makers]
    made = 0
    while made < count:
        messages, kind, given = rng.choices(functions, shares)[0](rng)
        document = finish(rng, messages, kind, given)
        key = json.dumps([messages, [t['function']['name'] for t in document.get('tools', [])]])
        if key in seen or holds(messages, judged) or sum(len(m['content']) for m in document['messages']) > LONGEST:
            continue
        seen.add(key)
        made += 1
        yield document


def main():
    parser = argparse.ArgumentParser(description='Writes dialogues for fine-tuning.')
    parser.add_argument('--out', required=True, help='the JSONL file to write')
    parser.add_argument('--documents', type=int, default=40000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--stories', help='a JSONL file of stories with the key "text"')
    parser.add_argument('--talk', action='store_true', help='more about tools, refusals and the model itself; no stories from files')
    parser.add_argument('--teacher', help='a second such file, told by the teacher')
    args = parser.parse_args()
    files = [path for path in (args.stories, args.teacher) if path]
    told = None if args.talk else [story for path in files for story in prose.load(path)]
    with open(args.out + '.part', 'w', encoding='utf-8') as out:
        for document in documents(args.documents, args.seed, told):
            out.write(json.dumps(document, ensure_ascii=False) + '\n')
    os.replace(args.out + '.part', args.out)


if __name__ == '__main__':
    main()
