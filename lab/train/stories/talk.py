"""Turns source texts into documents: plain stories, and chats made of stories, small talk and generated dialogues."""
import json
import random
import re
from collections import defaultdict

from stories.requests_of import request_for
from stories.swap import renamed, swapped
from worlds.judged import bare, judged_prompts
from worlds.say import careless

SOURCES = ['tinystories', 'tinyfabulist-open', 'storyweaver-en', 'african-storybook', 'chitchat-microsoft']
NEXT = ['Go on.', 'What happens next?', 'And then?', 'What happened then?', 'Continue.', 'Please go on.',
        'Tell me more.', 'Then what happened?', 'go on', 'more', 'Keep going.', 'I want to hear more.',
        'Continue the story, please.', 'And what happened after that?']
SYSTEMS = ['You are a friendly storyteller.', 'You tell short stories for children.',
           'You are Halfbyte Stories, a small model that tells stories.', 'You are a helpful assistant.',
           'Answer in simple words.', 'You are a kind assistant who tells stories.']
#: Small talk that is not true of this model, or not suitable for it.
LEFT_OUT = re.compile(r"Suicide|don't have a name|Ouija|naps|boom|crap|hell\b|committed|created by humans|trained in"
                      r"|see you|goldfish|seagulls|contest|tragic|follow that|Swing|awkward", re.I)
MAX_PER_REPLY = 24
ASCII = str.maketrans({
    '‘': "'", '’': "'", '“': '"', '”': '"', '–': '-', '…': '...', '\u00a0': ' ', 'æ': 'ae', 'é': 'e',
    'è': 'e', 'ê': 'e', 'ö': 'o', 'ü': 'u', 'ä': 'a', 'ï': 'i', 'ç': 'c', '\ufeff': '',
})
UNKIND = re.compile(
    r'\b(nigg|negro|darkie|savages?\b|jews?\b|gips|gyps|squaw|rape|suicide|whore|bitch|damn|sex)', re.I)


def clean(text):
    """Converts wrapped, typographic text to one line with ASCII punctuation; other characters are dropped."""
    text = text.translate(ASCII).replace('—', ' - ').replace('--', ' - ').replace('_', '').replace('*', '')
    text = text.encode('ascii', 'ignore').decode()
    text = re.sub(r'\s+', ' ', re.sub(r'\[[^\]]*\]|\{[^}]*\}', '', text)).strip()
    text = re.sub(r"(^|[\s(\"])'(?=[A-Z])(.*?[.,!?])'(?=\s|$|-)", r'\1"\2"', text)
    return re.sub(r' +([,.;:!?])', r'\1', text)


def tidy(text):
    """Plain quotes and dashes, no wrapped or double spaces; line ends stay."""
    text = text.translate(ASCII).replace('\u2014', ' - ').replace('\r', '')
    return re.sub(r'\n\s*\n+', '\n', re.sub(r'[ \t]+', ' ', text)).strip()


def read_lines(path):
    """The objects of a file of JSON lines."""
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def read_storybook(root):
    """African Storybook: (title, paragraphs) of each story, without credits."""
    stories = []
    for path in sorted(root.glob('african-storybook/*.md')):
        pages = path.read_text(encoding='utf-8').split('\n##')
        title = clean(pages[0].lstrip('# '))
        paragraphs = [clean(page) for page in pages[1:] if 'License:' not in page]
        paragraphs = [p for p in paragraphs if len(p) > 8]
        if sum(len(p.split()) for p in paragraphs) >= 40 and not any(UNKIND.search(p) for p in paragraphs):
            stories.append((title, paragraphs))
    return stories


def stories_of(source, root):
    """The stories of a source: texts with their line ends."""
    if source == 'african-storybook':
        return ['\n'.join(paragraphs) for _, paragraphs in read_storybook(root)]
    if source == 'tinystories':
        return [s for s in (d['text'].strip() for d in read_lines(root / source / 'train.jsonl')) if len(s) > 200]
    kept = [tidy(d['text']) for d in read_lines(root / source / 'data.jsonl')]
    return [s for s in kept if s.isascii() and not UNKIND.search(s)]


def chitchat(root, rng):
    """Friendly one-turn exchanges, at most MAX_PER_REPLY per reply, so that no reply dominates."""
    by_reply, judged = defaultdict(list), judged_prompts()
    for item in read_lines(root / 'chitchat-microsoft' / 'data.jsonl'):
        asked, reply = item['text'].removeprefix('User: ').split('\nAssistant: ')
        if item['persona'] == 'friendly' and not LEFT_OUT.search(reply) and not UNKIND.search(asked) \
                and bare(asked) not in judged:
            by_reply[tidy(reply)].append(tidy(asked))
    for reply, asked in by_reply.items():
        for one in rng.sample(asked, min(len(asked), MAX_PER_REPLY)):
            yield [('user', one), ('assistant', reply)]


def plain_texts(source, root):
    """All text of a source, for counting."""
    if source == 'chitchat-microsoft':
        return [t for turns in chitchat(root, random.Random(1)) for _, t in turns]
    return stories_of(source, root)


def messages_of(turns):
    """Pairs as messages."""
    return [{'role': role, 'content': text} for role, text in turns]


def cut_at(text, share):
    """The text in two, at the end of a sentence or line near a share of its length; None if there is none."""
    ends = [m.end() for m in re.finditer(r'[.!?]"?(?=\s)', text)]
    ends = [e for e in ends if 0.2 * len(text) < e < 0.85 * len(text)]
    if not ends:
        return None
    at = min(ends, key=lambda e: abs(e - share * len(text)))
    return text[:at].strip(), text[at:].strip()


def shouted(rng, text):
    """The request, sometimes in capital letters or with punctuation that people tend to add."""
    draw = rng.random()
    if draw < 0.1:
        return text.upper()
    return text.rstrip('.?!') + rng.choice(['!!', '!', ' pls', ' please', '...', ' :)', ' 😀', ' 😊', ' ❤️', '!!!']) if draw < 0.14 else text


def beginning(rng, story):
    """The first words of a story as a person types them."""
    words = story.split()[:rng.randint(2, 12)]
    return shouted(rng, careless(rng, ' '.join(words).rstrip(',') + rng.choice(['', '', ' ...', '...'])))


def story_chat(rng, story, small):
    """A chat that tells the story: a request that mentions something in it, then the story as a whole or in parts."""
    turns = []
    if rng.random() < 0.75:
        story = swapped(rng, renamed(rng, story))
    if rng.random() < 0.03:
        turns += rng.choice(small)
    asked = shouted(rng, careless(rng, request_for(rng, story)))
    parts = cut_at(story, rng.uniform(0.3, 0.7)) if rng.random() < 0.06 else None
    if parts:
        turns += [('user', asked), ('assistant', parts[0]), ('user', rng.choice(NEXT)), ('assistant', parts[1])]
    elif rng.random() < 0.05:
        turns += [('user', beginning(rng, story)), ('assistant', story)]
    elif rng.random() < 0.06 and (parts := cut_at(story, 0.15)):
        lead = rng.choice(['Go on with this story: {}', 'Continue this story: {}', 'How does this go on? {}',
                           'Finish this story: {}'])
        turns += [('user', lead.format(parts[0])), ('assistant', parts[1])]
    else:
        turns += [('user', asked), ('assistant', story)]
    if rng.random() < 0.03:
        turns += rng.choice(small)
    if rng.random() < 0.08:
        turns.insert(0, ('system', rng.choice(SYSTEMS)))
    return messages_of(turns)


def small_chat(rng, small):
    """One to three exchanges of small talk."""
    turns = [turn for _ in range(rng.choice([1, 1, 1, 2, 3])) for turn in rng.choice(small)]
    if rng.random() < 0.06:
        turns.insert(0, ('system', rng.choice(SYSTEMS)))
    return messages_of(turns)
