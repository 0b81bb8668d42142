"""Fine-tunes the model of a folder as a job describes. `halfbyte tune` starts it; progress goes to stdout as JSON lines.

    python train.py job.json

When stdin ends, it writes a checkpoint and stops. The same job continues from there and ends with the same weights.
"""
import json
import math
import os
import signal
import sys
import threading
import time

import torch

from network import Network
from tensors import read_tensors, write_tensors

#: Tokens of one forward and backward pass; longer examples run alone.
PASS_TOKENS = 512
#: Tokens that are enough to measure the speed.
TIMED_TOKENS = 256
#: Seconds between checkpoints.
CHECKPOINT_SECONDS = 120
WARM_UP = 0.05


def say(event, **values):
    """Sends an event to the command."""
    print(json.dumps({'event': event, **values}), flush=True)


def stop_with_parent():
    """A flag that is set when stdin ends: the command asks for it, or has itself ended."""
    flag = threading.Event()

    def wait():
        # Not through sys.stdin, whose lock would keep the interpreter from ending.
        while os.read(0, 1024):
            pass
        flag.set()
    threading.Thread(target=wait, daemon=True).start()
    return flag


def read_examples(path):
    """One example per line: `ids`, and `trained`, the ranges of ids that are learned."""
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def passes_of(examples, most=PASS_TOKENS):
    """Groups of successive examples with at most this many tokens each."""
    group, tokens = [], 0
    for each in examples:
        if group and tokens + len(each['ids']) > most:
            yield group
            group, tokens = [], 0
        group.append(each)
        tokens += len(each['ids'])
    if group:
        yield group


def batches_of(examples, batch, epoch, seed):
    """All examples, in an order that depends on the seed and the epoch."""
    order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    for at in range(0, len(order), batch):
        yield [examples[index] for index in order[at:at + batch]]


def held_loss(network, examples):
    """Mean loss per trained token."""
    with torch.no_grad():
        sums = [network.loss(group) for group in passes_of(examples)]
    return float(sum(loss for loss, _ in sums)) / sum(count for _, count in sums)


def seconds_per_token(network, examples):
    """The faster of two passes, whose gradients are dropped."""
    times = []
    for group in [next(passes_of(examples, TIMED_TOKENS))] * 2:
        started = time.perf_counter()
        loss, _ = network.loss(group)
        loss.backward()
        times.append((time.perf_counter() - started) / sum(len(each['ids']) for each in group))
        network.zero_grad(set_to_none=True)
    return min(times)


def rate_at(step, steps):
    """A share of the rate: it rises at first, and falls to zero along a cosine."""
    rise = max(1, round(steps * WARM_UP))
    return min(1, (step + 1) / rise) * (1 + math.cos(math.pi * step / steps)) / 2


class Run:
    """The state of the training: the trained parameters, the optimizer and the steps so far."""

    def __init__(self, job, network):
        self.network, self.path = network, job['checkpoint']
        self.parameters = network.trained()
        self.optimizer = torch.optim.AdamW(self.parameters.values(), job['rate'], weight_decay=job['decay'])
        self.step, self.curve, self.saved_at = 0, [], time.monotonic()
        if os.path.exists(self.path):
            saved = torch.load(self.path, weights_only=True)
            self.step, self.curve = saved['step'], saved['curve']
            self.optimizer.load_state_dict(saved['optimizer'])
            with torch.no_grad():
                for name, value in saved['parameters'].items():
                    self.parameters[name].copy_(value)

    def save(self):
        """A crash leaves the previous checkpoint intact."""
        torch.save({'step': self.step, 'curve': self.curve, 'optimizer': self.optimizer.state_dict(),
                    'parameters': {name: each.detach() for name, each in self.parameters.items()}}, self.path + '.part')
        os.replace(self.path + '.part', self.path)
        self.saved_at = time.monotonic()

    def learn(self, batch, rate):
        """One step. Returns the mean loss per trained token before it."""
        count = sum(end - begin for each in batch for begin, end in each['trained'])
        total = 0.0
        for group in passes_of(batch):
            loss, _ = self.network.loss(group)
            (loss / count).backward()
            total += float(loss.detach())
        if not math.isfinite(total):
            say('failed', message=f'the loss is not finite at step {self.step + 1}; give a smaller --rate')
            raise SystemExit(1)
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), 1.0)
        for group in self.optimizer.param_groups:
            group['lr'] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return total / count

    def tell(self, event, loss, steps):
        """A point of the loss curve, which checkpoints keep."""
        self.curve.append({'event': event, 'step': self.step, 'loss': loss})
        say(event, step=self.step, steps=steps, loss=loss)


def train(job, run, train_set, held, stopped):
    """Returns false if it was stopped before the end."""
    per_epoch = math.ceil(len(train_set) / job['batch'])
    steps = per_epoch * job['epochs']
    if run.step == 0:
        run.tell('held', held_loss(run.network, held), steps)
    for epoch in range(run.step // per_epoch, job['epochs']):
        for index, batch in enumerate(batches_of(train_set, job['batch'], epoch, job['seed'])):
            step = epoch * per_epoch + index
            if step < run.step:
                continue
            if stopped.is_set():
                run.save()
                return False
            run.tell('step', run.learn(batch, job['rate'] * rate_at(step, steps)), steps)
            if time.monotonic() - run.saved_at > CHECKPOINT_SECONDS:
                run.save()
        run.tell('held', held_loss(run.network, held), steps)
    run.save()
    return True


def main():
    """Reads the job, trains, and writes the tuned tensors."""
    # The command stops the training by closing stdin, so that a checkpoint is written.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopped = stop_with_parent()
    with open(sys.argv[1], encoding='utf-8') as file:
        job = json.load(file)
    if 'threads' in job:
        torch.set_num_threads(job['threads'])
    train_set, held = read_examples(job['train']), read_examples(job['held'])
    tensors = read_tensors(job['weights'])
    network = Network(job['shape'], tensors)
    dtypes = {name: each.dtype for name, each in tensors.items()}
    del tensors
    if 'lora' in job:
        network.adapt(job['lora']['rank'], job['lora']['alpha'], job['seed'])
    run = Run(job, network)
    pace = seconds_per_token(network, train_set)
    tokens = [sum(len(each['ids']) for each in examples) for examples in (train_set, held)]
    # Held-out examples need no backward pass, which takes about two thirds of the time.
    say('pace', seconds=pace * (tokens[0] * job['epochs'] + tokens[1] * (job['epochs'] + 1) / 3), step=run.step)
    if not train(job, run, train_set, held, stopped):
        say('stopped', step=run.step)
        return
    write_tensors(job['output'], network.export(dtypes))
    say('done', curve=run.curve)


if __name__ == '__main__':
    main()
