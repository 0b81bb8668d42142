"""Hand-written small talk of the demo model: short dialogues that teach it greetings and what it is."""
from pathlib import Path

# a line of smalltalk.txt: what a user may say | what the assistant may answer; '/' separates alternatives
LINES = (Path(__file__).parent / 'smalltalk.txt').read_text(encoding='utf-8')
SYSTEMS = ['You are a helpful assistant.', 'You are a friendly assistant.', 'You tell stories to children.',
           'You are Halfbyte, a small language model that tells stories.',
           'Answer kindly and in short sentences.',
           'You are a kind storyteller.', 'You are a helpful, honest assistant.', 'Be brief.']
PAIRS = [tuple(part.split('/') for part in line.split('|')) for line in LINES.splitlines()]
GREETING, MOOD, THANKS, BYE, PRAISE = PAIRS[0], PAIRS[1], PAIRS[8], PAIRS[9], PAIRS[10]


def exchange(rng, pair):
    """A user turn and an assistant turn drawn from one pair; the user sometimes writes carelessly."""
    said = rng.choice(pair[0])
    if rng.random() < 0.25:
        said = said.lower()
    return [('user', said), ('assistant', rng.choice(pair[1]))]


def dialogue(rng):
    """A short hand-made conversation: maybe a greeting, one to three exchanges, maybe a farewell."""
    turns = exchange(rng, GREETING) if rng.random() < 0.4 else []
    for pair in rng.sample(PAIRS, rng.randint(1, 3)):
        turns += exchange(rng, pair)
    return turns + (exchange(rng, BYE) if rng.random() < 0.25 else [])
