"""Turns source texts and generated documents into one token file per source: out/SOURCE.bin (uint16) and .json."""
import argparse
import json
import random
import re
from pathlib import Path

import numpy as np

from stories import spm
from stories.chat import turn_texts
from stories.spm import BOS, END
from stories.talk import chitchat, read_lines, small_chat, stories_of, story_chat
from worlds.judged import holds, judged_prompts
from worlds.tools import ALL

#: Bit 15 marks tokens that count in the loss: the model's own words.
OWN = 1 << 15
#: Bit 14 marks the words of an answer that the request asked for; the bits below it are the id.
ASKED = 1 << 14
IDS = ASKED - 1
#: Words in requests that do not name anything to include.
COMMON = set('''the and for with you can tell story stories about please write want would like hear could make use has have who
that was she her his him named called name little short bedtime again one once more into they them but not from this these very
then what when where how are does did will let give another tale some any'''.split())
WORD = re.compile(r'[A-Za-z]{3,}|\d+(?:\.\d+)?')
#: Kinds of generated documents by source, with the share that is used.
KINDS = {
    'tools': {'tool': 1.0},
    'talk': {'unknown': 1.0, 'about': 1.0, 'chat': 1.0, 'name': 1.0, 'sum': 1.0, 'no-calculator': 1.0, 'strange': 1.0, 'json': 0.5},
    'worlds': {'world': 1.0, 'world-questions': 1.0, 'world-goon': 0.3, 'world-shorter': 1.0, 'mixed': 0.6},
}
#: Kinds of conversations in which no tool is called, although tools are offered.
TALK = ('unknown', 'about', 'chat', 'name', 'strange', 'world', 'world-questions')


def encode_plain(vocabulary, text):
    """A story without a chat: all tokens are the model's own."""
    return [BOS, *(i | OWN for i in [*vocabulary.encode(text), END])]


def wanted(text):
    """The words of a request that its story must contain."""
    return set(WORD.findall(text.lower())) - COMMON


def marked(vocabulary, text, words):
    """Ids of the model's own text; those of the words are marked as asked for."""
    encoding = vocabulary.encoding(text, specials=True)
    at = [(m.start(), m.end()) for m in WORD.finditer(text) if m[0].lower() in words]
    if not at or not text.isascii():
        return [i | OWN for i in encoding.ids]
    return [i | OWN | (ASKED if any(a < end and start < b for a, b in at) else 0)
            for i, (start, end) in zip(encoding.ids, encoding.offsets)]


def encode_chat(vocabulary, messages, tools=()):
    """A conversation; the assistant's turns with their ends are the model's own."""
    ids, asked = [BOS], set()
    for role, text in turn_texts(messages, tools):
        ids.append(vocabulary.specials[f'<|{role}|>'])
        if role == 'user':
            asked = wanted(text)
        if role == 'assistant':
            ids += [*marked(vocabulary, text, asked), END | OWN]
        else:
            ids += [*vocabulary.encode(text, specials=True), END]
    return ids


def joined(documents, most=4):
    """Conversations with the same tools and system text, several in one, so that the tools are read once."""
    waiting = {}
    for document in documents:
        messages, tools = document['messages'], document['tools']
        system = messages[0]['content'] if messages[0]['role'] == 'system' else ''
        key = json.dumps([system, tools])
        held, count = waiting.pop(key, (None, 0))
        held = {**held, 'messages': held['messages'] + messages[bool(system):]} if held else document
        if count + 1 == most:
            yield held
        else:
            waiting[key] = (held, count + 1)
    yield from (held for held, _ in waiting.values())


def unjudged(documents, judged):
    """The documents, each a list of messages, except those that contain an evaluation prompt."""
    return [messages for messages in documents if not holds(messages, judged)]


def offered(rng, documents, share):
    """Some of the conversations, with the page's tools offered but not called, so that tools do not change stories and talk."""
    return [{'messages': messages, 'tools': ALL} for messages in documents
            if rng.random() < share and messages[0]['role'] != 'system']


def write(out, name, documents, longest=1024):
    """Writes a source's tokens, and the start of each document."""
    documents = list(documents)
    kept = [d for d in documents if len(d) <= longest]
    np.array([i for d in kept for i in d], dtype=np.uint16).tofile(out / f'{name}.bin')
    starts = np.cumsum([0, *map(len, kept)]).tolist()
    part = out / f'{name}.json.part'
    part.write_text(json.dumps({'starts': starts, 'left_out': len(documents) - len(kept)}))
    part.rename(out / f'{name}.json')
    print(f'{name}: {len(kept)} documents, {starts[-1]} tokens, {len(documents) - len(kept)} too long', flush=True)


def main():
    """Writes the named sources; the generated documents of --worlds as the source `worlds`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--text', type=Path, default=Path('inputs/text'))
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--worlds', type=Path, nargs='*', default=[])
    parser.add_argument('--only', nargs='*', help='names of the sources to write')
    parser.add_argument('--passes', type=int, default=3, help='passes over the stories, each with new requests')
    parser.add_argument('--seed', type=int, default=7)
    args = parser.parse_args()
    vocabulary = spm.load(json.loads((args.out / 'vocabulary.json').read_text(encoding='utf-8')))
    rng = random.Random(args.seed)
    wanted = args.only or ['tinystories', 'told', 'picture', 'small', 'worlds', 'offered']
    judged = judged_prompts()
    tiny = stories_of('tinystories', args.text)
    small = list(chitchat(args.text, rng))
    pictures = [s for name in ('tinyfabulist-open', 'storyweaver-en', 'african-storybook')
                for s in stories_of(name, args.text)]
    def chat(messages, tools=()):
        return encode_chat(vocabulary, messages, tools)

    if 'tinystories' in wanted:
        write(args.out, 'tinystories', [encode_plain(vocabulary, s) for s in tiny])
    if 'told' in wanted:
        write(args.out, 'told',
              map(chat, unjudged((story_chat(rng, s, small) for _ in range(args.passes) for s in tiny), judged)))
    if 'picture' in wanted:
        write(args.out, 'picture',
              map(chat, unjudged((story_chat(rng, s, small) for _ in range(2) for s in pictures), judged)))
    if 'small' in wanted:
        write(args.out, 'small', map(chat, unjudged((small_chat(rng, small) for _ in range(6000)), judged)))
    if 'worlds' in wanted and args.worlds:
        found = [d for path in args.worlds for d in read_lines(path)]
        for name, shares in KINDS.items():
            chosen = [d for d in found if not holds(d['messages'], judged) and rng.random() < shares.get(d['kind'], 0)]
            if name != 'worlds':
                chosen = [*joined(d for d in chosen if d.get('tools')), *(d for d in chosen if not d.get('tools'))]
            write(args.out, name, [chat(d['messages'], d.get('tools') or ()) for d in chosen])
    if 'offered' in wanted and args.worlds:
        talks = [d['messages'] for path in args.worlds for d in read_lines(path) if d['kind'] in TALK]
        chats = [story_chat(rng, s, small) for _ in range(args.passes) for s in tiny]
        found = [*joined(offered(rng, unjudged(chats, judged), 0.6), 2), *joined(offered(rng, unjudged(talks, judged), 0.3), 3)]
        rng.shuffle(found)
        write(args.out, 'offered', [chat(d['messages'], d['tools']) for d in found])


if __name__ == '__main__':
    main()
