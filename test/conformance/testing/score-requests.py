"""The results that an evaluation must give, computed in float64 without Halfbyte's code.

In: a Llama as GGUF, the data sets in test/conformance/golden/evaluation. Out: answers.json there, with each item's
log-likelihoods and decisions, and the metrics.

    python3 test/conformance/testing/score-requests.py test/fixtures/stories260k/stories260K-f32.gguf

Everything is computed from the definitions: SentencePiece's BPE by scores, a forward pass in numpy, and the
rules of lm-evaluation-harness 0.4, llama.cpp and GPTQ's evaluation as docs/guide/evaluation.md states them.
"""
import json
import math
import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'lab/train'))
from stories.gguf import read_gguf  # noqa: E402
from stories.spm import Spm  # noqa: E402

DATA = ROOT / 'test/conformance/golden/evaluation'
BOS = 1


class Llama:
    """A Llama in float64: logits of all positions of a text."""

    def __init__(self, path):
        meta, tensors = read_gguf(path)
        self.t = {name: values.astype(np.float64) for name, values in tensors.items()}
        self.layers, self.heads = meta['llama.block_count'], meta['llama.attention.head_count']
        self.groups, self.eps = meta['llama.attention.head_count_kv'], meta['llama.attention.layer_norm_rms_epsilon']
        self.width = meta['llama.embedding_length'] // self.heads
        self.limit = meta['llama.context_length']
        self.base = meta.get('llama.rope.freq_base', 10000.0)
        self.text = Spm(meta['tokenizer.ggml.tokens'], meta['tokenizer.ggml.scores'])

    def norm(self, x, name):
        return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + self.eps) * self.t[name]

    def rotate(self, x):
        """Neighbouring values are a pair, as GGUF stores the rows of queries and keys."""
        positions = np.arange(x.shape[0])[:, None, None]
        angle = positions * self.base ** (-np.arange(0, self.width, 2) / self.width)
        even, odd = x[..., ::2], x[..., 1::2]
        turned = np.empty_like(x)
        turned[..., ::2] = even * np.cos(angle) - odd * np.sin(angle)
        turned[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
        return turned

    def log_probabilities(self, ids):
        """[position][id]"""
        n, t = len(ids), self.t
        x = t['token_embd.weight'][ids]
        mask = np.triu(np.full((n, n), -np.inf), 1)
        for layer in range(self.layers):
            at = f'blk.{layer}.'
            h = self.norm(x, at + 'attn_norm.weight')
            q, k, v = ((h @ t[f'{at}attn_{part}.weight'].T).reshape(n, -1, self.width) for part in 'qkv')
            q, k = self.rotate(q), self.rotate(k)
            k, v = (np.repeat(each, self.heads // self.groups, 1) for each in (k, v))
            scores = np.einsum('qhd,khd->hqk', q, k) / math.sqrt(self.width) + mask
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = np.einsum('hqk,khd->qhd', scores / scores.sum(-1, keepdims=True), v).reshape(n, -1)
            x = x + mixed @ t[at + 'attn_output.weight'].T
            h = self.norm(x, at + 'ffn_norm.weight')
            gate = h @ t[at + 'ffn_gate.weight'].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ t[at + 'ffn_up.weight'].T)) @ t[at + 'ffn_down.weight'].T
        logits = self.norm(x, 'output_norm.weight') @ t['output.weight'].T
        logits -= logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def request(self, context, continuation):
        """The log-likelihood of ids that follow other ids, and whether each of them is the most likely one."""
        ids = (context + continuation)[-(self.limit + 1):][:-1]
        rows = self.log_probabilities(ids)[-len(continuation):]
        chosen = rows[np.arange(len(continuation)), continuation]
        return float(chosen.sum()), bool((rows.argmax(-1) == continuation).all())

    def pair(self, context, continuation):
        """The harness' `_encode_pair` and `loglikelihood`, without BOS."""
        spaces = len(context) - len(context.rstrip())
        if spaces:
            context, continuation = context[:-spaces], context[-spaces:] + continuation
        whole, own = self.text.encode(context + continuation), self.text.encode(context)
        return self.request(own or [BOS], whole[len(own):])

    def rolling(self, ids):
        """The harness' `get_rolling_token_windows` with context_len 1."""
        total, done = 0.0, 0
        while done < len(ids):
            end = min(done + self.limit, len(ids))
            inputs = [BOS] + ids[:end - 1] if done == 0 else ids[max(0, end - self.limit - 1):end - 1]
            total += self.request(inputs[:len(inputs) - (end - done - 1)], ids[done:end])[0]
            done = end
        return total

    def windows(self, ids, size, first, bos):
        """Losses of the tokens after position `first` of each window."""
        losses = []
        for at in range(0, len(ids) - size + 1, size):
            own = ids[at:at + size]
            rows = self.log_probabilities(([BOS] if bos else own[:1]) + own[1:])
            losses += [-rows[i, own[i + 1]] for i in range(first, size - 1)]
        return losses


def lines(name):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def clean(text):
    text = text.strip().replace(' [title]', '. ')
    return re.sub(r'\[.*?\]', '', text).replace('  ', ' ')


def hellaswag():
    for doc in lines('hellaswag.jsonl'):
        context = clean(doc['activity_label'] + ': ' + doc['ctx_a'] + ' ' + doc['ctx_b'].capitalize())
        yield [(context, end) for end in map(clean, doc['endings'])], int(doc['label'])


def piqa():
    labels = (DATA / 'piqa-labels.lst').read_text().split()
    for doc, label in zip(lines('piqa.jsonl'), labels):
        yield [(f"Question: {doc['goal']}\nAnswer:", doc[key]) for key in ('sol1', 'sol2')], int(label)


def arc():
    for doc in lines('arc.jsonl'):
        if 'query' in doc:
            asked, texts, gold = doc['query'] + '\nAnswer:', doc['choices'], doc['gold']
        else:
            nested = isinstance(doc['question'], dict)
            stem = doc['question']['stem'] if nested else doc['question']
            found = doc['question']['choices'] if nested else None
            texts = [each['text'] for each in found] if nested else doc['choices']['text']
            labels = [each['label'] for each in found] if nested else doc['choices']['label']
            asked, gold = f'Question: {stem}\nAnswer:', labels.index(doc['answerKey'])
        yield [(asked, text) for text in texts], gold


def winogrande():
    for doc in lines('winogrande.jsonl'):
        if 'sentence' in doc:
            at = doc['sentence'].index('_')
            contexts = [doc['sentence'][:at] + doc[key] for key in ('option1', 'option2')]
            yield [(context, doc['sentence'][at + 1:].strip()) for context in contexts], int(doc['answer']) - 1
        else:
            yield [(context, doc['continuation']) for context in doc['context_options']], doc['gold']


def boolq():
    for doc in lines('boolq.jsonl'):
        if 'query' in doc:
            yield [(doc['query'], text) for text in doc['choices']], doc['gold']
            continue
        passage = f"{doc['title']} -- {doc['passage']}" if 'title' in doc else doc['passage']
        context = f"{passage}\nQuestion: {doc['question']}?\nAnswer:"
        yield [(context, text) for text in ('no', 'yes')], int(doc['answer'] if 'answer' in doc else doc['label'])


def choices():
    for doc in lines('choices.jsonl'):
        yield [(doc['query'], text) for text in doc['choices']], doc['gold']


def detokenize(text):
    for find, put in (("s '", "s'"), (' @-@ ', '-'), (' @,@ ', ','), (' @.@ ', '.'), (' : ', ': '), (' ; ', '; '),
                      (' . ', '. '), (' ! ', '! '), (' ? ', '? '), (' , ', ', ')):
        text = text.replace(find, put)
    for opened, closed in ('()', '[]', '{}', '""', "''"):
        text = re.sub(rf'{re.escape(opened)}\s*([^{re.escape(closed)}]*?)\s*{re.escape(closed)}', rf'{opened}\1{closed}', text)
    for find, put in (('= = = =', '===='), ('= = =', '==='), ('= =', '=='), (' \u00b0 ', '\u00b0'), (' \n', '\n'),
                      ('\n ', '\n'), (' N ', ' 1 '), (" 's", "'s")):
        text = text.replace(find, put)
    return text


def pages(text):
    """The loader of `wikitext_document_level`."""
    found = ['']
    for line in text.split('\n'):
        title = line.replace('= = =', '===').replace('= =', '==').strip()
        if title.startswith('= ') and title.endswith(' ='):
            found.append(line)
        else:
            found[-1] += '\n' + line
    return [page for page in found if page.strip()]


def error(values):
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def main():
    model = Llama(sys.argv[1])
    answers = {}
    for task in (hellaswag, piqa, arc, winogrande, boolq, choices):
        items = []
        for pairs, gold in task():
            found = np.array([model.pair(context, ' ' + text)[0] for context, text in pairs])
            lengths = np.array([len(text) for _, text in pairs], float)
            items.append({'logLikelihoods': found.tolist(), 'gold': gold, 'acc': int(found.argmax() == gold),
                          'acc_norm': int((found / lengths).argmax() == gold)})
        metrics = {metric: [float(np.mean([i[metric] for i in items])), error([i[metric] for i in items])]
                   for metric in (['acc'] if task in (winogrande, boolq) else ['acc', 'acc_norm'])}
        answers[task.__name__] = {'items': items, 'metrics': metrics}
    found = [model.pair(doc['text'].rpartition(' ')[0], ' ' + doc['text'].rpartition(' ')[2]) for doc in lines('lambada.jsonl')]
    perplexity = math.exp(-np.mean([each for each, _ in found]))
    answers['lambada'] = {'items': [{'logLikelihoods': [each], 'greedy': greedy} for each, greedy in found], 'metrics': {
        'perplexity': [perplexity, perplexity * error([each for each, _ in found])],
        'acc': [float(np.mean([greedy for _, greedy in found])), error([greedy for _, greedy in found])]}}
    text = (DATA / 'wikitext.txt').read_text()
    own = pages(text)
    found = [model.rolling(model.text.encode(detokenize(page))) for page in own]
    words = sum(len(re.split(r'\s+', page)) for page in own)
    size = sum(len(page.encode()) for page in own)
    answers['wikitext'] = {'items': [{'logLikelihoods': [each]} for each in found], 'metrics': {
        'word_perplexity': [math.exp(-sum(found) / words)], 'byte_perplexity': [math.exp(-sum(found) / size)],
        'bits_per_byte': [-sum(found) / size / math.log(2)]}}
    rows = ''.join(line + '\n\n\n' if line.strip() else '\n\n' for line in text.split('\n')[:-1])[:-2]
    for name, of, half in (('second_halves', text, True), ('windows', rows, False)):
        losses = model.windows([BOS] + model.text.encode(of), 64, 32 if half else 0, half)
        value = math.exp(np.mean(losses))
        spread = value * float(np.std(losses)) / math.sqrt(len(losses) - 1)
        answers[name] = {'items': [], 'metrics': {'perplexity': [value, spread]}}
    (DATA / 'answers.json').write_text(json.dumps(answers, indent=1) + '\n')


main()
