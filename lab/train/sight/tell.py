"""The second stage: trains a small Llama to tell what the tower sees. Reads out/tower.pt, writes out/sight.pt."""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from checkpoint import save, seconds_until
from llama import Llama
from sight.body import load_vocabulary, small_llama, small_vocabulary
from sight.questions import DIRECTIONS, KINDS, ask, asked, beside, held_cells
from sight.scenes import CELLS, COLOURS, SHAPES, draw, name_of, scene
from sight.tower import Tower
from stories.spm import BOS, END, MARK

#: Number of images in the pool; only the tower's states are kept.
PICTURES = 6000
#: The text between an image and its question: empty if a message lists its parts, a line break if the image has no position.
BETWEEN, SHARES = ('', '\n', ' '), (0.5, 0.4, 0.1)
#: The weight of neighbouring cells in a row of the first stage, and the weight of the word "Nothing" for an empty cell.
BESIDE, NOTHING = 0.7, 1.4
#: Layers, and the heads in each, that are trained to attend to the thing in question; the weight of that in the loss.
GUIDED, GUIDED_HEADS, GUIDE_WEIGHT = (1, 2), 2, 0.5


class Prompts:
    """Encodes questions and answers like the engine after a picture."""

    def __init__(self, vocabulary):
        self.vocabulary, self.known = vocabulary, {}
        self.head = [BOS, vocabulary.specials['<|user|>']]

    def ids(self, question, answer, between):
        """Ids after the image, and the number of ids at the end that are the model's own."""
        key = question, answer, between
        if key not in self.known:
            text = (between + question).replace(' ', MARK)
            said = [token.id for token in self.vocabulary.tokenizer.model.tokenize(text)]
            own = [*self.vocabulary.encode(answer), END]
            self.known[key] = [*said, END, self.vocabulary.specials['<|assistant|>'], *own], len(own)
        return self.known[key]


class Watched(Llama):
    """A Llama that reads several questions in a row, each at the positions after the image, and keeps its guided heads'
    scores."""

    #: Positions of tokens [batch, time], the attention mask [batch, 1, time, time], and scores [batch, heads, time, time].
    places, seen, scores = None, None, ()

    def rotate(self, x):
        """Like the Llama's, with the tokens' own positions."""
        return x * self.cos[self.places] + x.roll(x.shape[-1] // 2, -1) * self.sin[self.places]

    def attention(self, layer, x):
        """Like the Llama's, with the attention mask."""
        c, (batch, time_, _) = self.config, x.shape
        q, k, v = F.linear(x, self.weight(layer, 'qkv')).view(batch, time_, 3, c.heads, c.head_dim).unbind(2)
        q, k, v = self.rotate(q).transpose(1, 2), self.rotate(k).transpose(1, 2), v.transpose(1, 2)
        if any(layer is self.layers[i] for i in GUIDED):
            scores = q[:, :GUIDED_HEADS] @ k[:, :GUIDED_HEADS].transpose(2, 3) * c.head_dim ** -0.5
            self.scores.append(scores.masked_fill(~self.seen, -torch.inf))
        mixed = F.scaled_dot_product_attention(q, k, v, self.seen)
        return F.linear(mixed.transpose(1, 2).reshape(batch, time_, -1), self.weight(layer, 'out'))


def batch_of(prompts, rng, questions):
    """Ids [batch, time], positions, the attention mask, the mask of the model's own tokens, and target attention [batch, time,
    CELLS].

    An image's questions follow each other, and each attends only to the image and itself.
    """
    first, batch = len(prompts.head) + CELLS, len(questions)
    rows = [[(*prompts.ids(question, answer, rng.choice(BETWEEN, p=SHARES)), cells) for question, answer, cells in each]
            for each in questions]
    length = first + max(sum(len(ids) for ids, *_ in row) for row in rows)
    ids, places = np.zeros((batch, length), np.int64), np.zeros((batch, length), np.int64)
    groups, own = np.full((batch, length), -1), np.zeros((batch, length), bool)
    look = np.zeros((batch, length, CELLS), np.float32)
    ids[:, :len(prompts.head)], places[:, :first], groups[:, :first] = prompts.head, np.arange(first), -2
    for i, row in enumerate(rows):
        at = first
        for number, (one, count, cells) in enumerate(row):
            end = at + len(one)
            ids[i, at:end], places[i, at:end], groups[i, at:end] = one, np.arange(first, first + len(one)), number
            own[i, end - count:end] = True
            if cells:
                # from the question mark to the last token that predicts a token of the answer
                look[i, end - count - 3:end - 1, cells] = 1 / len(cells)
            at = end
    groups = torch.from_numpy(groups)
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    alike = (groups[:, :, None] == groups[:, None]) | (groups == -2)[:, None]
    return *map(torch.from_numpy, (ids, places)), (causal & alike)[:, None], torch.from_numpy(own), torch.from_numpy(look)


def answers(model, tower, prompts, rng, states, questions):
    """The loss of the answers, that of the guided heads, and whether each whole answer is right.

    An answer is right if each of its tokens is the likeliest after the previous ones, so greedy decoding finds it.
    """
    ids, places, seen, own, look = batch_of(prompts, rng, questions)
    x, first = F.embedding(ids, model.embed), len(prompts.head)
    x = torch.cat([x[:, :first], tower.projected(states), x[:, first + CELLS:]], 1)
    chosen = torch.zeros_like(own)
    chosen[:, :-1] = own[:, 1:]
    model.places, model.seen, model.scores = places, seen, []
    logits = model.logits(x, chosen)
    guided = look.sum(-1) > 0
    looks = [scores.transpose(1, 2)[guided].log_softmax(-1)[..., first:first + CELLS] for scores in model.scores]
    guide = -sum((each * look[guided][:, None]).sum(-1).mean() for each in looks) / len(looks)
    wanted = ids[own]
    right = logits.argmax(-1) == wanted
    ends = (wanted == END).nonzero().flatten().tolist()
    return F.cross_entropy(logits, wanted), guide, [
        right[a:b + 1].all().item() for a, b in zip([0, *[end + 1 for end in ends]], ends)]


def first_rows(model, vocabulary, scenes):
    """Initial rows [scenes, CELLS, hidden]: the words for a cell's thing, and those for its neighbours, rotated.

    A language model quickly learns to copy a word that a row points to. Each direction has its own rotation.
    """
    word = {name: model.embed.detach()[vocabulary.ids[MARK + name]] for name in (*COLOURS, *SHAPES)}
    nothing = model.embed.detach()[vocabulary.tokenizer.model.tokenize(f'{MARK}Nothing')[0].id]
    names = map(name_of, range(len(COLOURS) * len(SHAPES)))
    things = torch.stack([*(word[colour] + word[shape] for colour, shape in names), NOTHING * nothing])
    turns = [torch.linalg.qr(torch.randn(2 * [model.config.hidden]))[0] for _ in DIRECTIONS]
    near = torch.tensor([[[beside(cells, c, way) for c in range(CELLS)] for cells in scenes] for way in DIRECTIONS])
    return things[torch.from_numpy(np.stack(scenes))] + BESIDE * sum(things[c] @ turn for c, turn in zip(near, turns))


def projector(tower):
    """The trainable parameters of the tower."""
    return [*tower.inner.parameters(), *tower.project.parameters()]


def fit(tower, states, rows, steps=3000, lr=3e-3):
    """Trains the projector to produce these rows from the states."""
    optimizer = torch.optim.Adam(projector(tower), lr=lr)
    states, rows = states.flatten(0, 1), rows.flatten(0, 1)
    for step in range(steps):
        optimizer.param_groups[0]['lr'] = lr * (1 - step / steps)
        chosen = torch.randint(len(rows), (512,))
        loss = F.mse_loss(tower.projected(states[chosen]), rows[chosen]) / rows.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f'first rows: {loss.item():.4f} of them missing', flush=True)


def held_questions(count, seed):
    """Pictures, each with one question of the next kind about a held-out place, as in the test."""
    rng = np.random.default_rng(seed)
    pictures, questions = [], []
    while len(questions) < count:
        cells = scene(rng, held=True)
        one = ask(rng, cells, KINDS[len(questions) % len(KINDS)], among=held_cells(cells))
        if one:
            pictures.append(draw(rng, cells))
            questions.append([one])
    return pictures, questions


@torch.no_grad()
def states_of(tower, pictures):
    """The tower's states for pictures, in batches."""
    return torch.cat([tower.states(torch.from_numpy(np.stack(pictures[at:at + 64]))) for at in range(0, len(pictures), 64)])


@torch.no_grad()
def measured(model, tower, prompts, states, questions):
    """The share of right answers, overall and by kind."""
    right = np.array(answers(model, tower, prompts, np.random.default_rng(5), states, questions)[2])
    return right.mean(), ', '.join(f'{kind} {right[i::len(KINDS)].mean():.2f}' for i, kind in enumerate(KINDS))


def start_of(state, width):
    """The tower of the first stage with a new projector."""
    tower = Tower(width)
    own = {name: t for name, t in state['tower'].items() if not name.startswith(('inner', 'project'))}
    tower.load_state_dict({**tower.state_dict(), **own})
    return tower


def main():
    """Trains the projector and the small Llama until --steps or --deadline; the tower is frozen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--stories', type=Path, default=Path('models/halfbyte-stories'), help='model with the vocabulary')
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--steps', type=int, default=8000)
    parser.add_argument('--pictures', type=int, default=8, help='pictures per step')
    parser.add_argument('--questions', type=int, default=8, help='questions per picture')
    parser.add_argument('--lr', type=float, default=1.5e-3)
    parser.add_argument('--deadline', help='UTC HH:MM by which the learning rate reaches zero')
    parser.add_argument('--seed', type=int, default=37)
    parser.add_argument('--again', type=Path, help='start from the weights of an earlier sight.pt, at the full rate')
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    vocabulary = small_vocabulary(load_vocabulary(args.stories))
    model, prompts = small_llama(vocabulary, Watched), Prompts(vocabulary)
    tower = start_of(torch.load(args.out / 'tower.pt'), model.config.hidden)
    learning = [*model.parameters(), *projector(tower)]
    rng = np.random.default_rng(args.seed)
    scenes = [scene(rng) for _ in range(PICTURES)]
    states = states_of(tower, [draw(rng, cells) for cells in scenes])
    if args.again:
        earlier = torch.load(args.again)
        tower.load_state_dict(earlier['tower'])
        model.load_state_dict(earlier['model'])
    else:
        fit(tower, states, first_rows(model, vocabulary, scenes))
    pictures, questions = held_questions(160, 1)
    test = states_of(tower, pictures), questions
    print(f'{sum(p.numel() for p in learning)} parameters, {len(vocabulary.pieces)} pieces', flush=True)
    train(args, model, tower, prompts, (rng, scenes, states), test)


def train(args, model, tower, prompts, pool, test):
    """Runs the steps; prints the share of right answers and writes a checkpoint after every hundred."""
    rng, scenes, states = pool
    learning = [*model.parameters(), *projector(tower)]
    optimizer = torch.optim.AdamW(learning, betas=(0.9, 0.98), weight_decay=0.01)
    started, left, step, progress, total = time.time(), seconds_until(args.deadline), 0, 0.0, []
    while progress < 1:
        progress = min(1.0, max(step / args.steps, (time.time() - started) / left if args.deadline else 0))
        for group in optimizer.param_groups:
            group['lr'] = args.lr * min(1, (step + 1) / 100) * min(1, (1 - progress) / 0.5 + 0.01)
        chosen = rng.integers(PICTURES, size=args.pictures)
        asked_ = [asked(rng, scenes[i], args.questions) for i in chosen]
        loss, guide, _ = answers(model, tower, prompts, rng, states[chosen], asked_)
        optimizer.zero_grad()
        (loss + GUIDE_WEIGHT * guide).backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        step += 1
        total.append((loss.item(), guide.item()))
        if step % 100 == 0 or progress >= 1:
            share, kinds = measured(model, tower, prompts, *test)
            print(f'step {step} progress {progress:.3f} losses {np.mean(total, 0).round(4)} held-out {share:.3f}: {kinds}, '
                  f'{time.time() - started:.0f} s', flush=True)
            total = []
            save(args.out / 'sight.pt', tower=tower.state_dict(), model=model.state_dict(), step=step, progress=progress)


if __name__ == '__main__':
    main()
