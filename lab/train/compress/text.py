"""Turns JSON lines into windows of ids with a tokenizer of transformers, in the order in which training draws them.

A line has a `text`, `messages`, which the tokenizer's own template renders, or a `text` with the `answer` at its end. Texts and
messages are concatenated and cut into windows. An answer has its own window, in which the loss ignores the tokens before it
(see compress.losses).
"""
import json

import torch

#: Number of held-out windows, and of held-out answers.
HELD, HELD_ANSWERS = 16, 64
#: Padding after the end of an answer. The loss ignores it, like the tokens before the answer.
NOTHING = ~0


def ids_of(value, tokenizer):
    """The ids of one line."""
    if 'messages' in value:
        return tokenizer.apply_chat_template(value['messages'], tokenize=True, return_dict=False)
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    return [*tokenizer(value['text'])['input_ids'], *end]


def answer_of(value, tokenizer):
    """The ids of a text with an answer. The loss ignores those before the answer."""
    asked = value['text'][:-len(value['answer'])]
    before = len(tokenizer(asked)['input_ids'])
    ids = ids_of(value, tokenizer)
    return [*(~each for each in ids[:before]), *ids[before:]]


def require_answer(path, number, value):
    """Raises ValueError for a line whose answer is missing or is not at the end of its text."""
    answer = value.get('answer')
    if not answer or not value.get('text', '').endswith(answer):
        raise ValueError(f'line {number} of {path} has no text that ends with its answer; the first line has one, so give '
                         'each line a "text" and the "answer" at its end, or no line an "answer"')


def read_answers(path, lines, tokenizer, length, most):
    """Ids [count, length + 1], one answer each. Longer ones are truncated from the left."""
    rows = []
    for number, line in enumerate(lines, 1):
        value = json.loads(line)
        require_answer(path, number, value)
        ids = answer_of(value, tokenizer)[-length - 1:]
        rows.append(ids + [NOTHING] * (length + 1 - len(ids)))
        if len(rows) == most:
            break
    if len(rows) <= 2 * HELD_ANSWERS:
        raise ValueError(f'{path} has {len(rows)} answers, of which {HELD_ANSWERS} are held out; give more than {2 * HELD_ANSWERS}')
    return torch.tensor(rows)


def windows_of(path, tokenizer, length, most):
    """Ids [count, length + 1] of the lines of a file. Raises ValueError for too short a text."""
    with open(path, encoding='utf-8') as file:
        lines = [line for line in file if line.strip()]
    if lines and 'answer' in json.loads(lines[0]):
        return read_answers(path, lines, tokenizer, length, most)
    found = []
    for line in lines:
        found += ids_of(json.loads(line), tokenizer)
        if len(found) >= most * (length + 1):
            break
    count = min(most, len(found) // (length + 1))
    if count <= HELD:
        raise ValueError(f'{path} has {len(found)} tokens and {HELD + 1} windows take {(HELD + 1) * (length + 1)}; '
                         'give more text or a smaller --length')
    return torch.tensor(found[:count * (length + 1)]).reshape(count, -1)


def lengths_of(windows):
    """The length of each window up to the last token that counts in the loss."""
    return ((windows >= 0) * torch.arange(1, windows.shape[1] + 1)).amax(1)


def split(windows, seed):
    """The training windows, and the held-out ones (the last). Windows of answers are sorted by length, so that a step needs
    little padding; others are shuffled."""
    held = HELD if (windows >= 0).all() else HELD_ANSWERS
    own, rest = windows[:-held], windows[-held:]
    if held == HELD:
        return own[torch.randperm(len(own), generator=torch.Generator().manual_seed(seed))], rest
    return own[lengths_of(own).argsort(stable=True)], rest


def batch_of(windows, size, seed, step):
    """The windows of a step: adjacent ones, in an order redrawn in each pass over all windows."""
    count = -(-len(windows) // size)
    around, at = divmod(step, count)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed * 1_000_003 + around))
    first = int(order[at]) * size
    chosen = windows[first:first + size]
    return chosen[:, :int(lengths_of(chosen).max())]
