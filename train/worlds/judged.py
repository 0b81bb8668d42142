"""The prompts that judge the model. In: prompts.json. Out: a check that no document holds one of them."""
import json
import re
from pathlib import Path

PROMPTS = Path(__file__).resolve().parent.parent / 'prompts' / 'prompts.json'


def bare(text):
    """The text without case, marks and doubled spaces."""
    return re.sub(r'[^a-z0-9]+', ' ', text.lower()).strip()


def judged_prompts(path=PROMPTS):
    """All judging prompts in bare form."""
    chosen = json.loads(path.read_text(encoding='utf-8'))
    return {bare(p) for part in ('twenty', 'ten') for prompts in chosen[part].values() for p in prompts}


def holds(messages, judged):
    """Whether a user's message is one of the judged prompts."""
    return any(m['role'] == 'user' and bare(m['content']) in judged for m in messages)
