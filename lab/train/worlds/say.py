"""Small language helpers. In: words and templates. Out: sentences with the right article and capitals."""
import re


def a(noun):
    """The noun with its article: 'an apple', 'a pear'."""
    return ('an ' if re.match(r'[aeiou](?!ni[cfqv])', noun) else 'a ') + noun


def cap(text):
    """The text with a capital at its start."""
    return text[:1].upper() + text[1:]


def join(items):
    """'a fox, a hat and a river'."""
    return items[0] if len(items) == 1 else ', '.join(items[:-1]) + ' and ' + items[-1]


def choose(rng, template):
    """One of the alternatives of a template, which ' | ' separates."""
    return rng.choice(template.split(' | '))


VERBS = r'(?:said|asked|cried|called|shouted|thought|laughed)\b'
SPEECH = rf'(?:(?:he|she|it|they|the [a-z ]+?) )?{VERBS}'


def fill(template, slots):
    """The template with its {slots}, and a capital at the start of every sentence."""
    text = template.format_map(slots)
    text = re.sub(r'([.!?]\s+"?)([a-z])', lambda m: m[1] + m[2].upper(), text)
    return cap(re.sub(rf'([.!?]"\s+)(?!{SPEECH})([a-z])', lambda m: m[1] + m[2].upper(), text))


def message(role, content):
    return {'role': role, 'content': content}


def talk(*turns):
    """Alternating messages of user and assistant, the user first."""
    return [message('user' if i % 2 == 0 else 'assistant', text) for i, text in enumerate(turns)]


def careless(rng, text):
    """The request as people type it: sometimes in lower case or without final punctuation."""
    roll = rng.random()
    if roll < 0.12:
        text = text[0].lower() + text[1:] if not text.startswith('I ') else text
    elif roll < 0.2:
        text = text.lower()
    if rng.random() < 0.15:
        text = text.rstrip('.?!')
    return text
