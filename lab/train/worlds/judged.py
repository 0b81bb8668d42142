"""The evaluation prompts. In: prompts.json. Out: a check that no document contains one of them."""
import json
import re
from pathlib import Path

from .held import HELD_WORDS

PROMPTS = Path(__file__).resolve().parent.parent / 'prompts' / 'prompts.json'
HELD = PROMPTS.with_name('held.json')


def bare(text):
    """The text in lower case, without punctuation and repeated spaces."""
    return re.sub(r'[^a-z0-9]+', ' ', text.lower()).strip()


def judged_prompts(path=PROMPTS):
    """All evaluation prompts: normalised, or unchanged if their punctuation and capitals matter."""
    chosen = json.loads(path.read_text(encoding='utf-8'))
    held = json.loads(HELD.read_text(encoding='utf-8'))
    return {bare(p) for part in ('twenty', 'ten') for prompts in chosen[part].values() for p in prompts} | {
        bare(q['turns'][0]) for q in held['sums']} | {q['prompt'] for q in held['special']}


ASKED_HELD = re.compile(rf'\b(?:{"|".join(sorted(HELD_WORDS))})(?:s|es)?\b', re.I)


def holds(messages, judged):
    """Whether a user's message is an evaluation prompt, or asks for a held-out thing."""
    return any(m['role'] == 'user' and (bare(m['content']) in judged or m['content'].strip() in judged or ASKED_HELD.search(m['content'])) for m in messages)
