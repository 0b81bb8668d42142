"""SentencePiece's BPE by scores. In: pieces and scores. Out: ids of a text, the text of ids, tokenizer.json."""
import json

from tokenizers import Tokenizer

MARK = '\u2581'
UNKNOWN, BOS, END = 0, 1, 2
FIRST_BYTE = 3
ROLES = ['<|system|>', '<|user|>', '<|assistant|>', '<|tool|>']
CALL, CALL_END = '<tool_call>', '</tool_call>'
#: Added to the vocabulary after the bytes; <|bos|> and <|end|> take the places of <s> and </s>.
SPECIALS = ['<|bos|>', '<|end|>', *ROLES, CALL, CALL_END]


class Spm:
    """A vocabulary whose pieces merge by score: two neighbours are merged if their joined text is a piece.

    The Python package tokenizers does the merging, from the same tokenizer.json that is exported.
    """

    def __init__(self, pieces, scores, specials=()):
        self.pieces, self.scores = pieces, scores
        self.specials = {text: pieces.index(text) for text in specials}
        fixed = {UNKNOWN, BOS, END, *range(FIRST_BYTE, FIRST_BYTE + 256), *self.specials.values()}
        self.ids = {piece: i for i, piece in enumerate(pieces) if i not in fixed}
        self.tokenizer = Tokenizer.from_str(json.dumps(self.to_json()))

    def merge(self, word):
        """A word's pieces by SentencePiece's rule, and the text of every merge, which the package does not report."""
        symbols, made = list(word), []
        while True:
            joined = [a + b for a, b in zip(symbols, symbols[1:])]
            found = [(-self.scores[self.ids[text]], at) for at, text in enumerate(joined) if text in self.ids]
            if not found:
                return symbols, made
            _, at = min(found)
            symbols[at:at + 2] = [joined[at]]
            made.append(joined[at])

    def pieces_of(self, word):
        """The pieces of a word with its mark, without a space in front."""
        return [token.value for token in self.tokenizer.model.tokenize(word)]

    def encode(self, text, specials=False):
        """Ids of plain text, or of rendered chat text, where specials count as tokens.

        A space is inserted before the text and after each special token, as in Llama's tokenizer.
        """
        return self.encoding(text, specials).ids

    def encoding(self, text, specials=False):
        """The same with the position of each piece in the text."""
        self.tokenizer.encode_special_tokens = not specials
        return self.tokenizer.encode(text, add_special_tokens=False)

    def decode(self, ids):
        """The text of ids, without the first space; special tokens appear by name."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    def merges(self):
        """Merge rules with the same result: every split of a piece into two pieces, by the piece's score."""
        order = sorted(self.ids, key=lambda piece: -self.scores[self.ids[piece]])
        return [[p[:i], p[i:]] for p in order for i in range(1, len(p)) if p[:i] in self.ids and p[i:] in self.ids]

    def to_json(self):
        """The tokenizer.json of this vocabulary."""
        bos = self.pieces[BOS]

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
                single=[{'SpecialToken': {'id': bos, 'type_id': 0}}, {'Sequence': {'id': 'A', 'type_id': 0}}],
                pair=[], special_tokens={bos: {'id': bos, 'ids': [BOS], 'tokens': [bos]}}),
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
