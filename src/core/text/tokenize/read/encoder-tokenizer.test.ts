// Tests unigram tokenizers with a compiled character table, such as XLM-RoBERTa's. In: a small one trained by
// SentencePiece, with ids from Hugging Face's tokenizers. Out: the same ids, and errors for forged tables.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { encodePair, encoderTokenizer } from './encoder-tokenizer.ts'

const golden = JSON.parse(
  readFileSync(new URL('../../../../../test/conformance/golden/unigram.json', import.meta.url), 'utf8'),
)
const tokenizerOf = (tokenizer: object) =>
  encoderTokenizer({ kind: 'json', tokenizer: { ...tokenizer } as Record<string, never> })

test('texts get the reference ids', () => {
  const { prefix, suffix, encode } = tokenizerOf(golden.tokenizer)
  for (const { text, ids } of golden.texts)
    expect([...prefix, ...encode(text), ...suffix], JSON.stringify(text)).toEqual(ids)
})

test('pairs get the reference ids', () => {
  const { pair, encode } = tokenizerOf(golden.tokenizer)
  for (const { first, second, ids } of golden.pairs)
    expect(encodePair(pair!, encode(first), encode(second), 10_000).words).toEqual(ids)
})

describe('a GGUF file of the same vocabulary', () => {
  const { vocab, unk_id: unknownId } = golden.tokenizer.model
  const spec = {
    kind: 'gguf',
    model: 't5',
    tokens: vocab.map(([piece]: [string]) => piece),
    scores: vocab.map(([, score]: [string, number]) => score),
    types: vocab.map(([piece]: [string], id: number) =>
      id === unknownId ? 2 : /^<.+>$/.test(piece) ? 3 : 1,
    ),
    bosId: 0,
    eosId: 2,
    unknownId,
  } as const
  const charsmap = Array.from(atob(golden.tokenizer.normalizer.normalizers[0].precompiled_charsmap), (unit) =>
    unit.charCodeAt(0),
  )
  // SentencePiece drops spaces at both ends, and around special tokens; Hugging Face's tokenizers keep one.
  const plain = golden.texts.filter(({ text }: { text: string }) => !/^\s|\s$|<s>/.test(text))

  test('gives the same ids for texts and pairs', () => {
    expect(plain.length).toBeGreaterThan(25)
    const { prefix, suffix, encode, pair } = encoderTokenizer(spec, { sep: 2, charsmap })
    for (const { text, ids } of plain)
      expect([...prefix, ...encode(text), ...suffix], JSON.stringify(text)).toEqual(ids)
    const same = tokenizerOf(golden.tokenizer).pair!
    const first = encode('one')
    const second = encode('two')
    expect(encodePair(pair!, first, second, 99)).toEqual(encodePair(same, first, second, 99))
  })

  test('drops spaces at both ends, and reads special tokens', () => {
    const { encode } = encoderTokenizer(spec, { sep: 2, charsmap })
    expect(encode('  two  words ')).toEqual(encode('two words'))
    expect(encode('   ')).toEqual([])
    expect(encode('two<pad>')).toEqual([...encode('two'), 1])
  })

  test.each([
    ['with fewer scores', { scores: spec.scores.slice(1) }, {}, /501 scores for 502 tokens/],
    ['without an unknown token', { unknownId: undefined, types: undefined }, {}, /the unknown token/],
    ['without a first token', { bosId: undefined }, { cls: 1e9 }, /the first/],
    ['with a forged table', {}, { charsmap: [1, 2, 'x'] }, /precompiled_charsmap/],
  ])('%s is rejected', (_, change, extras, message) => {
    expect(() => encoderTokenizer({ ...spec, ...change }, extras)).toThrow(
      expect.objectContaining({ code: 'format', message: expect.stringMatching(message) }),
    )
  })
})

describe('a forged table', () => {
  const table = Uint8Array.from(
    atob(golden.tokenizer.normalizer.normalizers[0].precompiled_charsmap),
    (unit) => unit.charCodeAt(0),
  )
  const encoded = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))
  const withMap = (map: unknown) =>
    tokenizerOf({ ...golden.tokenizer, normalizer: { type: 'Precompiled', precompiled_charsmap: map } })

  test.each<[string, unknown]>([
    ['of a different type', 5],
    ['not base64', '\u2603'],
    ['empty', ''],
    ['whose trie is longer than the map', encoded(Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 0))],
    ['whose trie is not a whole number of units', encoded(Uint8Array.of(3, 0, 0, 0, 1, 2, 3, 4))],
  ])('%s is rejected', (_, map) => {
    expect(() => withMap(map)).toThrow(
      expect.objectContaining({ code: 'format', message: expect.stringContaining('precompiled_charsmap') }),
    )
  })

  test('that makes a text far longer throws for that text', () => {
    // A trie with a single key, "a", whose value has 255 letters.
    const units = new Uint32Array(1024)
    const at = 0x101 ^ 0x61
    units[0] = 0x101 << 10
    units[at] = 0x61 | 0x100 | (2 << 10)
    units[at ^ 2] = 0x80000000
    const parts = [Uint32Array.of(4096), units].map((part) => new Uint8Array(part.buffer))
    const map = Uint8Array.from([...parts.flatMap((part) => [...part]), ...Array(255).fill(0x62), 0])
    const tokenizer = withMap(encoded(map))
    expect(tokenizer.encode('c')).not.toEqual([])
    expect(() => tokenizer.encode('a'.repeat(1000))).toThrow(expect.objectContaining({ code: 'unsupported' }))
  })

  test('with any byte damaged returns a text or throws a typed error', () => {
    const texts = golden.texts.slice(0, 4).map(({ text }: { text: string }) => text)
    let refused = 0
    for (let at = 0; at < table.length; at += 3) {
      const damaged = table.slice()
      damaged[at]! ^= 0xa5
      try {
        const { encode } = withMap(encoded(damaged))
        for (const text of texts) expect(encode(text).every(Number.isInteger)).toBe(true)
      } catch (error) {
        expect(error).toMatchObject({ code: 'format' })
        refused++
      }
    }
    expect(refused).toBeGreaterThan(0)
  })
})
