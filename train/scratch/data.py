"""Cleaned sources in, chat documents as token files out: out/train.bin and out/held-*.bin (uint16)."""
import argparse
import json
import random
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np

from scratch import smalltalk
from scratch.bpe import ASSISTANT, BOS, END, SYSTEM, USER, WORDS, Tokenizer, train_merges
from corpus import (HELD_OUT_BOOKS, PLAIN_BOOKS, SENTENCE_END, SIMPLE_BOOKS, read_books, read_chatterbot,
                    read_sgd, read_storybook)

ROLE = {'user': USER, 'assistant': ASSISTANT, 'system': SYSTEM}
TOPICS = set('''
king queen prince princess fox wolf bear rabbit hare lion tiger elephant monkey witch giant dragon fairy boy
girl garden ship sea forest castle horse dog cat bird mouse frog fish cow goat sheep hen owl crow snake
crocodile tortoise turtle farmer miller tailor soldier fisherman hunter shepherd robber thief beggar
merchant old woman mother father brother sister grandmother grandfather baby child children friend mountain
river island village tree apple flower rose moon star sun snow rain winter summer ring crown sword gold
treasure house palace tower well bridge road market school train teacher doctor nurse hat shoes dress cake
bread soup egg feather pig donkey duck goose swan ant bee spider butterfly leopard hyena jackal zebra hippo
lizard toad mole rat squirrel deer boat water fire wind stone knife hole wood field cave beach lake kitchen
tea party christmas birthday dream magic monster ghost angel elf dwarf lady daughter son wife husband
servant cook captain sailor pirate scarecrow parrot kitten puppy pony shadow
'''.split())
NAME = re.compile(r'(?<=[a-z,] )([A-Z][a-z]{2,11})\b')
NOT_NAMES = {
    'God', 'Lord', 'Mrs', 'Sir', 'Miss', 'But', 'The', 'And', 'You', 'Your', 'Majesty', 'What', 'Then',
    'There', 'Well', 'English', 'French', 'Monday', 'Sunday', 'Madam', 'Christian', 'Heaven', 'Yes', 'How',
    'They', 'She',
}
BEGIN = [
    'Tell me a story about {}.', 'Can you tell me a story about {}?', 'I want a story about {}.',
    'tell me a story about {}', 'Please tell me a tale about {}.', 'A story about {}, please.',
]
BEGIN_ANY = [
    'Tell me a story.', 'Tell me a story!', 'Can you tell me a story?', 'Please tell me a fairy tale.',
    'tell me a story', 'I would like to hear a story.', 'Once upon a time', 'Tell me another story.',
]
MIDDLE = [
    'Tell me about {}.', 'Tell me more about {}.', 'Read me something about {}.', 'What happened to {}?',
    'Go on with the story about {}.', 'What about {}?',
]
NEXT = [
    'Go on.', 'What happens next?', 'And then?', 'What happened then?', 'Continue.', 'Please go on.',
    'Tell me more.', 'Then what happened?', 'go on', 'more', 'Keep going.', 'I want to hear more.',
]


def topic_of(rng, text):
    """What a passage is about: a frequent name, or a noun with its article; None if nothing stands out."""
    names = Counter(n for n in NAME.findall(text) if n not in NOT_NAMES and n.lower() not in TOPICS)
    nouns = Counter(w for w in re.findall(r'[a-z]+', text.lower()) if w in TOPICS)
    if names and (not nouns or rng.random() < 0.4):
        name, count = names.most_common(1)[0]
        if count >= 2:
            return name
    if not nouns:
        return None
    noun = rng.choice([w for w, _ in nouns.most_common(3)])
    if noun in {'old', 'children', 'gold', 'water', 'magic', 'snow', 'bread', 'christmas', 'tea', 'shoes'}:
        return {'old': 'an old man'}.get(noun, noun)
    return rng.choice([f'a{"n" if noun[0] in "aeiou" else ""} {noun}', f'the {noun}'])


def passages(rng, paragraphs):
    """Groups of whole paragraphs, mostly 60 to 180 words each."""
    group, words, target = [], 0, rng.randint(50, 150)
    for paragraph in paragraphs:
        count = len(paragraph.split())
        if count > 260:
            continue
        if group and words + count > 200:
            yield '\n'.join(group), words
            group, words, target = [], 0, rng.randint(50, 150)
        group.append(paragraph)
        words += count
        if words >= target and SENTENCE_END.search(paragraph):
            yield '\n'.join(group), words
            group, words, target = [], 0, rng.randint(50, 150)
    if group and words >= 30:
        yield '\n'.join(group), words


def with_system(rng, turns):
    """The dialogue, one time in eight behind a system message."""
    return [('system', rng.choice(smalltalk.SYSTEMS)), *turns] if rng.random() < 0.125 else turns


def story_documents(rng, paragraphs, title=None):
    """Chat documents of about 300 words that tell a chapter: request, passage, 'Go on.', next passage."""
    turns, budget, start = [], 0, True
    for text, words in passages(rng, paragraphs):
        if turns and budget + words > 310:
            yield with_system(rng, turns)
            turns, budget = [], 0
        if turns:
            said = rng.choice(NEXT)
        else:
            topic = topic_of(rng, text)
            if start and title and rng.random() < 0.2:
                said = f'Tell me the story "{title}".'
            elif start and (topic is None or rng.random() < 0.4):
                said = rng.choice(BEGIN_ANY)
            elif topic is None:
                said = rng.choice(['Read to me.', 'Read me something.', 'Go on with the story.'])
            else:
                said = rng.choice(BEGIN if start else MIDDLE).format(topic)
            if rng.random() < 0.12:
                turns += smalltalk.exchange(rng, smalltalk.GREETING)
        turns += [('user', said), ('assistant', text)]
        budget += words
        if start and rng.random() < 0.15:
            turns += smalltalk.exchange(rng, rng.choice([smalltalk.PRAISE, smalltalk.THANKS, smalltalk.BYE]))
            budget = 999
        start = False
    if turns:
        yield with_system(rng, turns)


def plain_documents(rng, paragraphs):
    """Chapters as bare text, cut into runs of about 300 words."""
    run, words = [], 0
    for text, count in passages(rng, paragraphs):
        run.append(text)
        words += count
        if words > 250:
            yield '\n'.join(run)
            run, words = [], 0
    if run:
        yield '\n'.join(run)


def epoch(rng, books, storybook, sgd, chatterbot):
    """One shuffled pass over the mixture; beginnings of tales and simple sources come round more often."""
    documents = []
    for name, chapters in books.items():
        for chapter in chapters:
            if name in PLAIN_BOOKS:
                if rng.random() < 0.25:
                    documents += plain_documents(rng, chapter)
            elif rng.random() < 0.1:
                documents += plain_documents(rng, chapter)
            else:
                told = list(story_documents(rng, chapter))
                documents += told + list(story_documents(rng, chapter))[:1]
    for title, paragraphs in storybook * 3:
        documents += story_documents(rng, paragraphs, title)
    documents += [with_system(rng, turns) for _, turns in rng.sample(sgd, min(len(sgd), 4200))]
    documents += [with_system(rng, turns) for turns in chatterbot]
    documents += [with_system(rng, smalltalk.dialogue(rng)) for _ in range(2200 if len(sgd) > 1000 else 40)]
    rng.shuffle(documents)
    return documents


def encode(tokenizer, document):
    """Ids of a document: <|bos|> text <|end|>, or <|bos|> and per turn <|role|> text <|end|>."""
    if isinstance(document, str):
        return [BOS, *tokenizer.encode(document), END]
    ids = [BOS]
    for role, text in document:
        ids += [ROLE[role], *tokenizer.encode(text), END]
    return ids


def word_counts(documents):
    """How often each pre-tokenised word occurs in documents."""
    counts = Counter()
    for document in documents:
        for text in [document] if isinstance(document, str) else [t for _, t in document]:
            counts.update(WORDS.findall(text))
    return counts


def main():
    """Reads the sources, trains the vocabulary once, writes the token files and what they hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--text', type=Path, default=Path('../../shared/fixtures/text'))
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--vocab', type=int, default=2048)
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--final-epochs', type=int, default=3, help='passes over the simple part, for the end')
    parser.add_argument('--seed', type=int, default=7)
    args = parser.parse_args()
    start, rng = time.time(), random.Random(args.seed)
    args.out.mkdir(exist_ok=True)
    readers = (read_books, read_storybook, read_sgd, read_chatterbot)
    books, storybook, sgd, chat = [read(args.text) for read in readers]
    for items in (storybook, sgd, chat):
        rng.shuffle(items)
    held = {
        'stories': ({k: v for k, v in books.items() if k in HELD_OUT_BOOKS}, storybook[:15], [], []),
        'dialogues': ({}, [], sgd[:150], chat[:30]),
    }
    kept = ({k: v for k, v in books.items() if k not in HELD_OUT_BOOKS}, storybook[15:], sgd[150:], chat[30:])
    passes = [epoch(rng, *kept) for _ in range(args.epochs)]
    simple = ({k: v for k, v in kept[0].items() if k in SIMPLE_BOOKS}, kept[1] * 2, kept[2][:1500], kept[3])
    final = [epoch(random.Random(args.seed + i), *simple) for i in range(args.final_epochs)]
    path = args.out / 'tokenizer.json'
    if path.exists():
        tokenizer = Tokenizer.load(path)
    else:
        tokenizer = Tokenizer(train_merges(word_counts(passes[0]), args.vocab - 262))
        path.write_text(json.dumps(tokenizer.to_json(), ensure_ascii=False), encoding='utf-8')
    report = {'seed': args.seed, 'vocab': len(tokenizer.tokens)}
    sets = {'train': [d for p in passes for d in p], 'final': [d for p in final for d in p]}
    sets.update({f'held-{k}': epoch(random.Random(1), *v) for k, v in held.items()})
    for name, documents in sets.items():
        ids = [i for d in documents for i in encode(tokenizer, d)]
        np.array(ids, dtype=np.uint16).tofile(args.out / f'{name}.bin')
        size = sum(len(d) if isinstance(d, str) else sum(len(t) for _, t in d) for d in documents)
        report[name] = {'documents': len(documents), 'tokens': len(ids), 'text_bytes': size}
    (args.out / 'data.json').write_text(json.dumps(report, indent=2))
    print(json.dumps(report), f'{time.time() - start:.0f} s')


if __name__ == '__main__':
    main()
