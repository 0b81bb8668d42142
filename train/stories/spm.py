"""SentencePiece's BPE by scores. In: pieces and scores. Out: ids of a text, its text again, tokenizer.json."""
import heapq
import re

MARK = '\u2581'
UNKNOWN, BOS, END = 0, 1, 2
FIRST_BYTE = 3
ROLES = ['<|system|>', '<|user|>', '<|assistant|>', '<|tool|>']
CALL, CALL_END = '<tool_call>', '</tool_call>'
#: Added to the vocabulary behind the bytes; <|bos|> and <|end|> take the places of <s> and </s>.
SPECIALS = ['<|bos|>', '<|end|>', *ROLES, CALL, CALL_END]


class Spm:
    """A vocabulary whose pieces merge by score: two neighbours join when their joined text is a piece."""

    def __init__(self, pieces, scores, specials=()):
        self.pieces, self.scores = pieces, scores
        self.specials = {text: pieces.index(text) for text in specials}
        fixed = {UNKNOWN, BOS, END, *range(FIRST_BYTE, FIRST_BYTE + 256), *self.specials.values()}
        self.ids = {piece: i for i, piece in enumerate(pieces) if i not in fixed}
        self.cache = {}
        self.split = re.compile('(' + '|'.join(map(re.escape, self.specials)) + ')') if specials else None

    def merge(self, word, trace=None):
        """The pieces of a word as strings; trace gets the text of every merge made."""
        symbols = list(word)
        following = list(range(1, len(symbols) + 1))
        before = list(range(-1, len(symbols) - 1))
        heap = []

        def offer(at):
            after = following[at]
            if after < len(symbols):
                joined = symbols[at] + symbols[after]
                if joined in self.ids:
                    heapq.heappush(heap, (-self.scores[self.ids[joined]], at, joined))

        for at in range(len(symbols)):
            offer(at)
        while heap:
            _, at, joined = heapq.heappop(heap)
            after = following[at]
            if symbols[at] is None or after >= len(symbols) or symbols[at] + symbols[after] != joined:
                continue
            if trace is not None:
                trace.append(joined)
            symbols[at], symbols[after] = joined, None
            following[at] = following[after]
            if following[at] < len(symbols):
                before[following[at]] = at
            offer(at)
            if before[at] >= 0:
                offer(before[at])
        return [s for s in symbols if s is not None]

    def encode_word(self, word):
        """Ids of a word with its mark, from a cache; a character without a piece becomes its bytes."""
        known = self.cache.get(word)
        if known is None:
            known = []
            for piece in self.merge(word):
                found = self.ids.get(piece)
                known += [FIRST_BYTE + b for b in piece.encode()] if found is None else [found]
            self.cache[word] = known
        return known

    def encode(self, text):
        """Ids of plain text: a space is put in front, as Llama's tokenizer does."""
        if not text:
            return []
        marked = MARK + text.replace(' ', MARK)
        return [i for word in re.findall(f'{MARK}+[^{MARK}]*|[^{MARK}]+', marked) for i in self.encode_word(word)]

    def encode_chat(self, text):
        """Ids of rendered chat text: the specials count as tokens, and a space goes before each text between."""
        ids = []
        for part in self.split.split(text):
            ids += [self.specials[part]] if part in self.specials else self.encode(part)
        return ids

    def decode(self, ids):
        """The text of ids, without the first space; specials as they are written."""
        out, fixed = bytearray(), {i: text for text, i in self.specials.items()}
        for i in ids:
            if i in fixed:
                out += fixed[i].encode()
            elif FIRST_BYTE <= i < FIRST_BYTE + 256:
                out.append(i - FIRST_BYTE)
            else:
                out += self.pieces[i].replace(MARK, ' ').encode()
        return out.decode('utf-8', 'replace').removeprefix(' ')

    def merges(self):
        """Merge rules with the same result: every split of a piece into two pieces, by the piece's score."""
        order = sorted(self.ids, key=lambda piece: -self.scores[self.ids[piece]])
        return [[p[:i], p[i:]] for p in order for i in range(1, len(p)) if p[:i] in self.ids and p[i:] in self.ids]

    def to_json(self):
        """The tokenizer.json of this vocabulary."""
        def step(kind, **rest):
            return {'type': kind, **rest}
        return {
            'version': '1.0', 'truncation': None, 'padding': None,
            'added_tokens': [{'id': i, 'content': text, 'single_word': False, 'lstrip': False, 'rstrip': False,
                              'normalized': False, 'special': True}
                             for text, i in [(self.pieces[UNKNOWN], UNKNOWN), *self.specials.items()]],
            'normalizer': step('Sequence', normalizers=[
                step('Prepend', prepend=MARK), step('Replace', pattern={'String': ' '}, content=MARK)]),
            'pre_tokenizer': None,
            'post_processor': step(
                'TemplateProcessing',
                single=[{'SpecialToken': {'id': '<|bos|>', 'type_id': 0}}, {'Sequence': {'id': 'A', 'type_id': 0}}],
                pair=[], special_tokens={'<|bos|>': {'id': '<|bos|>', 'ids': [BOS], 'tokens': ['<|bos|>']}}),
            'decoder': step('Sequence', decoders=[
                step('Replace', pattern={'String': MARK}, content=' '), step('ByteFallback'), step('Fuse'),
                step('Strip', content=' ', start=1, stop=0)]),
            'model': step('BPE', dropout=None, unk_token=self.pieces[UNKNOWN], continuing_subword_prefix=None,
                          end_of_word_suffix=None, fuse_unk=True, byte_fallback=True,
                          vocab={piece: i for i, piece in enumerate(self.pieces)},
                          merges=self.merges()),
        }


def load(saved):
    """The vocabulary of a saved {'pieces', 'scores'}."""
    return Spm(saved['pieces'], saved['scores'], SPECIALS)
