"""Self check of the Mamba: scan.c against plain loops in float64, the model against its exported tensors."""
import unittest

import torch
import torch.nn.functional as F

from scratch.export import snap
from mamba import Mamba, MambaConfig
from names import mamba_tensors
from scan import CHUNK, STATES, WIDTH, Conv, Scan

SMALL = MambaConfig(vocab=64, hidden=64, layers=2, inner=96, rank=32)
# not a multiple of what the backward pass recomputes at a time
TIME = 2 * CHUNK + 5


def plain_conv(x, weight, bias):
    """The convolution as shifted products."""
    time, x = x.shape[1], F.pad(x, (0, 0, WIDTH - 1, 0))
    return F.silu(bias + sum(weight[k] * x[:, k:k + time] for k in range(WIDTH)))


def plain_scan(x, raw, z, bc, a, d):
    """The recurrence one position at a time."""
    h, rows = torch.zeros(x.shape[0], x.shape[2], STATES, dtype=x.dtype), []
    for t in range(x.shape[1]):
        step, (enter, leave) = F.softplus(raw[:, t]), bc[:, t, None].chunk(2, -1)
        h = torch.exp(step[..., None] * a.T) * h + (step * x[:, t])[..., None] * enter
        rows.append((h * leave).sum(-1) + d * x[:, t])
    return torch.stack(rows, 1) * F.silu(z)


class ScanTest(unittest.TestCase):
    """Values and gradients of scan.c."""

    def setUp(self):
        torch.manual_seed(2)

    def check(self, function, plain, inputs):
        """Relative errors of the output and of every gradient."""
        single = [t.clone().requires_grad_() for t in inputs]
        double = [t.double().requires_grad_() for t in inputs]
        got, wanted = function.apply(*single), plain(*double)
        grad = torch.randn(got.shape)
        got.backward(grad)
        wanted.backward(grad.double())
        pairs = [(got, wanted), *((s.grad, d.grad) for s, d in zip(single, double))]
        for ours, theirs in pairs:
            self.assertLess(((ours - theirs).norm() / theirs.norm()).item(), 1e-6)

    def test_convolution(self):
        self.check(Conv, plain_conv, [torch.randn(2, TIME, 48), torch.randn(WIDTH, 48), torch.randn(48)])

    def test_scan(self):
        x, raw, z = (torch.randn(2, TIME, 48) * 2 for _ in range(3))
        bc, a, d = torch.randn(2, TIME, 2 * STATES), -torch.randn(STATES, 48).exp(), torch.randn(48)
        self.check(Scan, plain_scan, [x, raw - 3, z, bc, a, d])

    def test_far_values(self):
        x, z = torch.ones(1, 4, 16), torch.tensor([-100., -30., 30., 100.])[None, :, None].repeat(1, 1, 16)
        raw, bc = torch.tensor([-200., -40., 40., 200.])[None, :, None].repeat(1, 1, 16), torch.ones(1, 4, 2 * STATES)
        a, d = -torch.arange(1., STATES + 1)[:, None].repeat(1, 16), torch.ones(16)
        inputs = [x, raw, z, bc, a, d]
        got = Scan.apply(*inputs)
        self.assertTrue(torch.allclose(got, plain_scan(*inputs), rtol=1e-5, atol=1e-6))


class MambaTest(unittest.TestCase):
    """The model, and what is exported of it."""

    def setUp(self):
        torch.manual_seed(4)
        self.model, self.ids = Mamba(SMALL), torch.randint(0, SMALL.vocab, (1, TIME))

    def test_a_plain_mamba_over_the_exported_tensors_agrees(self):
        tensors, c = mamba_tensors(self.model.state_dict(), SMALL), SMALL
        x = tensors['backbone.embeddings.weight'][self.ids]

        def norm(x, name):
            return x / (x.pow(2).mean(-1, keepdim=True) + c.eps).sqrt() * tensors[name]

        for i in range(c.layers):
            own = {k.split('mixer.')[1]: v for k, v in tensors.items() if k.startswith(f'backbone.layers.{i}.mixer.')}
            inner, z = F.linear(norm(x, f'backbone.layers.{i}.norm.weight'), own['in_proj.weight']).chunk(2, -1)
            inner = F.silu(F.conv1d(F.pad(inner.transpose(1, 2), (WIDTH - 1, 0)), own['conv1d.weight'],
                                    own['conv1d.bias'], groups=c.inner)).transpose(1, 2)
            rank, bc = F.linear(inner, own['x_proj.weight']).split([c.rank, 2 * STATES], -1)
            raw = F.linear(rank, own['dt_proj.weight'], own['dt_proj.bias'])
            scanned = plain_scan(inner, raw, z, bc, -own['A_log'].exp().T, own['D'])
            x = x + F.linear(scanned, own['out_proj.weight'])
        logits = F.linear(norm(x, 'backbone.norm_f.weight'), tensors['backbone.embeddings.weight'])
        with torch.no_grad():
            self.assertLess((self.model(self.ids) - logits).abs().max().item(), 1e-4)

    def test_every_parameter_learns_and_matrices_are_quantised(self):
        self.model.qat = True
        self.model.loss(self.ids).backward()
        for name, parameter in self.model.named_parameters():
            self.assertGreater(parameter.grad.abs().sum().item(), 0, name)
        matrices = {n.split('.')[-1] for n, p in self.model.named_parameters() if p.ndim == 2}
        self.assertEqual(matrices - set(self.model.QUANTISERS), {'conv', 'a_log'})

    def test_snapped_weights_are_what_qat_sees(self):
        with torch.no_grad():
            self.model.qat = True
            seen, self.model.qat = self.model(self.ids), False
            self.model.load_state_dict(snap(self.model))
            self.assertLess((self.model(self.ids) - seen).abs().max().item(), 1e-4)

    def test_the_first_steps_are_between_a_thousandth_and_a_tenth(self):
        steps = F.softplus(self.model.layers[0].dt_bias)
        self.assertGreater(steps.min().item(), 0.99e-3)
        self.assertLess(steps.max().item(), 0.101)


if __name__ == '__main__':
    unittest.main()
