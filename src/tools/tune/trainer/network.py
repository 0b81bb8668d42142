"""A decoder like Llama, Qwen or Gemma 3, from the token ids of some examples to the loss of their trained tokens."""
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

#: Rows of logits that are in memory at once.
LOGIT_ROWS = 256
ACTIVATIONS = {'silu': F.silu, 'gelu': lambda x: F.gelu(x, approximate='tanh')}


class Linear(torch.nn.Module):
    """A matrix [outputs, inputs], and after `adapt` the product of two narrow ones that is added to it."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.scale = torch.nn.Parameter(weight), 0.0
        self.bias = None if bias is None else torch.nn.Parameter(bias)
        self.register_parameter('down', None)
        self.register_parameter('up', None)

    def adapt(self, rank, alpha, generator):
        """LoRA: `up` starts at zero, so the product changes nothing at first."""
        rows, columns = self.weight.shape
        self.down = torch.nn.Parameter(torch.randn(rank, columns, generator=generator) * columns ** -0.5)
        self.up = torch.nn.Parameter(torch.zeros(rows, rank))
        self.scale = alpha / rank

    def merged(self):
        """One matrix that computes the same."""
        return self.weight if self.up is None else self.weight + self.scale * (self.up @ self.down)

    def forward(self, x):
        """[rows, inputs] to [rows, outputs]."""
        y = F.linear(x, self.weight, self.bias)
        return y if self.up is None else y + self.scale * F.linear(F.linear(x, self.down), self.up)


class Norm(torch.nn.Module):
    """RMS norm; Gemma's weights are stored without the 1 that is added to them."""

    def __init__(self, weight, epsilon, offset):
        super().__init__()
        self.weight, self.epsilon, self.offset = torch.nn.Parameter(weight), epsilon, offset

    def forward(self, x):
        """Over the last dimension."""
        return F.rms_norm(x, x.shape[-1:], None, self.epsilon) * (self.weight + self.offset)


class Layer(torch.nn.Module):
    """Attention and the gated MLP, each with a norm before it, and in Gemma one after it."""

    def __init__(self, shape, index, take):
        super().__init__()
        self.shape, self.index = shape, index
        linear = lambda name: Linear(take(name + '.weight'), take(name + '.bias', optional=True))

        def norm(name):
            weight = take(name + '.weight', optional=True)
            return None if weight is None else Norm(weight, shape['normEpsilon'], shape['normOffset'])
        self.q, self.k, self.v, self.o = (linear(f'self_attn.{part}_proj') for part in 'qkvo')
        self.gate, self.up, self.down = (linear(f'mlp.{part}_proj') for part in ('gate', 'up', 'down'))
        self.q_norm, self.k_norm = norm('self_attn.q_norm'), norm('self_attn.k_norm')
        self.before, self.after = norm('input_layernorm'), norm('post_attention_layernorm')
        self.before_mlp, self.after_mlp = norm('pre_feedforward_layernorm'), norm('post_feedforward_layernorm')
        if self.before_mlp is None:
            self.before_mlp, self.after = self.after, None

    def attend(self, x, lengths, tables):
        """Attention of each example to its own earlier tokens. x: [tokens, hidden]."""
        shape, (tokens, _) = self.shape, x.shape
        q, k, v = (part(x).view(tokens, -1, shape['headDim']) for part in (self.q, self.k, self.v))
        if self.q_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        table = tables[self.index]
        if table is not None:
            q, k = rotate(q, table), rotate(k, table)
        group = shape['heads'] // shape['kvHeads']
        window = shape['window'] if self.index in shape['windowLayers'] else None
        out = []
        for own in zip(*(part.split(lengths) for part in (q, k, v))):
            q1, k1, v1 = (part.transpose(0, 1).unsqueeze(0) for part in own)
            k1, v1 = (part.repeat_interleave(group, 1) if group > 1 else part for part in (k1, v1))
            mask = window_mask(q1.shape[2], window)
            mixed = F.scaled_dot_product_attention(q1, k1, v1, attn_mask=mask, is_causal=mask is None,
                                                   scale=shape['attentionScale'])
            out.append(mixed[0].transpose(0, 1).reshape(q1.shape[2], -1))
        return self.o(torch.cat(out))

    def forward(self, x, lengths, tables):
        """[tokens, hidden] of all examples, one after another."""
        mixed = self.attend(self.before(x), lengths, tables)
        x = x + (mixed if self.after is None else self.after(mixed))
        y = self.before_mlp(x)
        y = self.down(ACTIVATIONS[self.shape['activation']](self.gate(y)) * self.up(y))
        return x + (y if self.after_mlp is None else self.after_mlp(y))


def rotate(x, table):
    """Rotates the halves of each head. x: [tokens, heads, dims]; table: cosines and sines [tokens, 1, dims]."""
    cos, sin = table
    return x * cos + x.roll(x.shape[-1] // 2, -1) * sin


def window_mask(length, window):
    """None for a sequence that fits into the window."""
    if window is None or length <= window:
        return None
    distance = torch.arange(length)[:, None] - torch.arange(length)
    return (distance >= 0) & (distance < window)


class Network(torch.nn.Module):
    """The model of a folder. `shape`: its description in the job; `tensors`: by their names in the folder."""

    def __init__(self, shape, tensors):
        super().__init__()
        self.shape = shape

        def taking(prefix):
            def take(name, optional=False):
                found = tensors.get(prefix + name)
                if found is None and not optional:
                    raise KeyError(prefix + name)
                return None if found is None else found.float().clone()
            return take
        self.embed = torch.nn.Parameter(taking('model.')('embed_tokens.weight'))
        self.layers = torch.nn.ModuleList(
            Layer(shape, index, taking(f'model.layers.{index}.')) for index in range(shape['layers']))
        self.norm = Norm(taking('model.')('norm.weight'), shape['normEpsilon'], shape['normOffset'])
        head = taking('')('lm_head.weight', optional=True)
        self.head = None if head is None else torch.nn.Parameter(head)

    def tables(self, lengths):
        """Cosines and sines of each layer; positions start again in each example."""
        positions = torch.cat([torch.arange(length) for length in lengths]).double()

        def table(rotation):
            angle = torch.outer(positions, torch.tensor(rotation['frequencies'], dtype=torch.float64))
            cos, sin = (f(angle) * rotation['magnitude'] for f in (torch.cos, torch.sin))
            return torch.cat([cos, cos], 1).float()[:, None], torch.cat([-sin, sin], 1).float()[:, None]
        shape = self.shape
        own = [table(each) for each in shape['rotations']]
        return [None if layer in shape['unrotatedLayers'] else own[layer in shape['localLayers']]
                for layer in range(shape['layers'])]

    def loss(self, examples):
        """The sum of the losses of the examples' trained tokens, in nats, and their number."""
        lengths = [len(each['ids']) for each in examples]
        ids = torch.tensor([id for each in examples for id in each['ids']])
        x = F.embedding(ids, self.embed) * self.shape['embeddingScale']
        tables = self.tables(lengths)
        for layer in self.layers:
            x = layer(x, lengths, tables)
        places, start = [], 0
        for each, length in zip(examples, lengths):
            places += [start + at for begin, end in each['trained'] for at in range(begin, end)]
            start += length
        places = torch.tensor(places)
        rows, targets = self.norm(x[places - 1]), ids[places]
        total = x.new_zeros(())
        for own, target in zip(rows.split(LOGIT_ROWS), targets.split(LOGIT_ROWS)):
            total = total + checkpoint(self.loss_of_rows, own, target, use_reentrant=False)
        return total, len(targets)

    def loss_of_rows(self, rows, targets):
        """Summed over rows."""
        logits = F.linear(rows, self.embed if self.head is None else self.head)
        cap = self.shape.get('logitCap')
        if cap is not None:
            logits = cap * torch.tanh(logits / cap)
        return F.cross_entropy(logits, targets, reduction='sum')

    def adapt(self, rank, alpha, seed):
        """Freezes all weights and gives every matrix of the layers an adapter."""
        generator = torch.Generator().manual_seed(seed)
        self.requires_grad_(False)
        for layer in self.layers:
            for part in (layer.q, layer.k, layer.v, layer.o, layer.gate, layer.up, layer.down):
                part.adapt(rank, alpha, generator)

    def trained(self):
        """The parameters that change, by name."""
        return {name: each for name, each in self.named_parameters() if each.requires_grad}

    def export(self, dtypes):
        """The folder's tensors with the trained values, in these types by name."""
        own = {'model.embed_tokens.weight': self.embed, 'model.norm.weight': self.norm.weight, 'lm_head.weight': self.head}
        for index, layer in enumerate(self.layers):
            own.update({f'model.layers.{index}.{name}': value for name, value in layer_tensors(layer)})
        return {name: own[name].detach().to(dtype) for name, dtype in dtypes.items()}


def layer_tensors(layer):
    """The names and values of a layer's tensors."""
    groups = {'self_attn': {'q_proj': layer.q, 'k_proj': layer.k, 'v_proj': layer.v, 'o_proj': layer.o,
                            'q_norm': layer.q_norm, 'k_norm': layer.k_norm},
              'mlp': {'gate_proj': layer.gate, 'up_proj': layer.up, 'down_proj': layer.down}}
    is_plain = layer.after_mlp is None
    norms = {'input_layernorm': layer.before,
             'post_attention_layernorm': layer.before_mlp if is_plain else layer.after,
             'pre_feedforward_layernorm': None if is_plain else layer.before_mlp,
             'post_feedforward_layernorm': layer.after_mlp}
    modules = {f'{group}.{name}': part for group, parts in groups.items() for name, part in parts.items()}
    for name, part in {**modules, **norms}.items():
        if isinstance(part, Linear):
            yield name + '.weight', part.merged()
            if part.bias is not None:
                yield name + '.bias', part.bias
        elif part is not None:
            yield name + '.weight', part.weight
