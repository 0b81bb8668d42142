"""Phase 2: trains the whole model on its grid towards the float model's distribution.

EfficientQAT's second phase trains only the scales; here codes may move too. The loss is BitDistiller's confidence-aware KL to
the float model (Du et al. 2024, arXiv 2402.10631), so the text needs no labels.
"""
import torch
from torch import nn
from torch.nn.utils import parametrize

from checkpoint import save
from compress.fewer_bits import factor_of
from lowbits.blocks import HESSIAN_WINDOWS, Progress, groups_of, set_rates
from lowbits.grid import is_on_grid, load, put_on_grid, solve, state_of
from lowbits.head import divergence
from lowbits.memory import fast_products, product_type
from lowbits.states import States

#: Share of the rate of scales at which the gains of norms learn.
GAIN_SHARE = 1 / 3
SAY_EVERY, SAVE_EVERY = 5, 25


class Shared(nn.Module):
    """The embedding as the logits matrix. Not a child, because the model owns it already."""

    def __init__(self, table):
        super().__init__()
        self.table = [table]

    def forward(self, _):
        return self.table[0].weight


def share_table(student):
    """Makes the logits read the table's values. Use the model inside parametrize.cached(), which computes them once."""
    head = student.lm_head
    head.weight = nn.Parameter(torch.empty(0), requires_grad=False)
    parametrize.register_parametrization(head, 'weight', Shared(student.model.embed_tokens), unsafe=True)


@torch.no_grad()
def table_factor(teacher, windows):
    """The factor of the Hessian of the logits' inputs."""
    total = 0
    for ids in windows[:HESSIAN_WINDOWS]:
        with fast_products():
            state = teacher.model(input_ids=ids[None], use_cache=False).last_hidden_state[0].float()
        total = total + state.t() @ state
    return factor_of(total)


def compress_table(student, teacher, windows, form, args):
    """Puts the embedding, which is also the logits matrix, on its grid. Raises ValueError for a model with two tables, or
    whose logits are changed after the product."""
    table, place = student.model.embed_tokens, args.work / 'table.pt'
    changed = [name for name in ('logits_scaling', 'final_logit_softcapping') if getattr(student.config, name, None)]
    if changed:
        raise ValueError(f'the model changes its logits by {changed[0]}; the second phase multiplies states by the table alone')
    if student.lm_head.weight.data_ptr() != table.weight.data_ptr():
        raise ValueError('the logits have a matrix of their own; give a model whose embedding is also the logits matrix')
    if place.exists():
        load(table, torch.load(place), form)
    else:
        factor = torch.eye(table.weight.shape[1]) if args.rounded else table_factor(teacher, windows)
        put_on_grid(table, solve(table.weight.data, factor, form), form)
        save(place, **state_of(table))
    share_table(student)


def gains_of(student):
    """The vectors outside of matrices: gains of norms."""
    return [p for name, p in student.named_parameters() if 'parametrizations' not in name and p.ndim == 1 and p.numel()]


def optimizer_for(student, args):
    """Adam for codes, scales, zero points and gains at their rates; everything else is frozen."""
    student.requires_grad_(False)
    layers = [each for each in student.modules() if is_on_grid(each)]
    groups = groups_of(layers, (args.whole_code_rate, args.whole_scale_rate, args.whole_zero_rate))
    groups.append({'params': gains_of(student), 'rate': args.whole_scale_rate * GAIN_SHARE})
    for group in groups:
        for p in group['params']:
            p.requires_grad_(True)
    return torch.optim.Adam(groups, betas=(0.9, 0.95), fused=True)


def learning_of(optimizer):
    """The trained parameters in the optimiser's order."""
    return [p for group in optimizer.param_groups for p in group['params']]


def step_of(optimizer, student, states, table, at, gamma):
    """One step on windows by number. states: the float model's; table: its logits matrix. Returns the loss."""
    with fast_products(), parametrize.cached():
        ours = student.model(input_ids=states.windows[at], use_cache=False).last_hidden_state
        loss = divergence(ours.flatten(0, 1), student.model.embed_tokens.weight, states.of(at).flatten(0, 1), table, gamma)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(learning_of(optimizer), 1.0)
    optimizer.step()
    return float(loss.detach())


def resume(optimizer, place):
    """Continues from a checkpoint if there is one. Returns the number of finished steps and their losses."""
    if not place.exists():
        return 0, []
    state = torch.load(place)
    for p, value in zip(learning_of(optimizer), state['learning'], strict=True):
        p.data.copy_(value)
    optimizer.load_state_dict(state['optimizer'])
    return state['step'], state['losses']


def train_whole(student, teacher, windows, gamma, args, score):
    """Trains up to args.steps; continues from the checkpoint in args.work if there is one, and leaves one there, which also
    has the loss of each step. Calls score with the number of steps every args.score_every steps and at the end."""
    optimizer, place = optimizer_for(student, args), args.work / 'whole.pt'
    first, losses = resume(optimizer, place)
    states = States(teacher, windows, args.states or args.work / 'states')
    table = teacher.model.embed_tokens.weight.to(product_type())
    progress = Progress(args.steps, 'step', first)
    for step in range(first, args.steps):
        set_rates(optimizer, step, args.steps, args.whole_warm)
        around, start = divmod(step * args.whole_batch, len(windows) // args.whole_batch * args.whole_batch)
        order = torch.randperm(len(windows), generator=torch.Generator().manual_seed(args.seed * 1000 + around))
        losses.append(step_of(optimizer, student, states, table, order[start:start + args.whole_batch], gamma))
        done, is_last = step + 1, step + 1 == args.steps
        if done % SAY_EVERY == 0:
            progress.say(done, f'divergence {sum(losses[-25:]) / len(losses[-25:]):.4f}')
        if done % SAVE_EVERY == 0 or is_last:
            save(place, step=done, losses=losses, learning=[p.detach() for p in learning_of(optimizer)],
                 optimizer=optimizer.state_dict())
        if is_last or (args.score_every and done % args.score_every == 0):
            score(done)
    if first >= args.steps:
        score(first)


@torch.no_grad()
def confidence(teacher, windows):
    """BitDistiller's gamma: the mean probability that the float model gives the actual next tokens."""
    found = []
    for ids in windows:
        with fast_products():
            odds = teacher(input_ids=ids[None, :-1], use_cache=False).logits[0].float().softmax(-1)
        found.append(odds.gather(-1, ids[1:, None]).mean())
    return float(torch.stack(found).mean())
