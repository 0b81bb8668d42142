// Unigram tokenizers with a compiled table of characters, as XLM-RoBERTa's. In: a small one that
// SentencePiece trained, with the ids of Hugging Face's tokenizers. Out: the same ids, and refusals of
// forged tables.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { encodePair, encoderTokenizer } from './encoder-tokenizer.ts'

const golden = JSON.parse(
  readFileSync(new URL('../../../../test/conformance/golden/unigram.json', import.meta.url), 'utf8'),
)
const tokenizerOf = (tokenizer: object) =>
  encoderTokenizer({ kind: 'json', tokenizer: { ...tokenizer } as Record<string, never> })

test('texts have the ids of the definition', () => {
  const { prefix, suffix, encode } = tokenizerOf(golden.tokenizer)
  for (const { text, ids } of golden.texts)
    expect([...prefix, ...encode(text), ...suffix], JSON.stringify(text)).toEqual(ids)
})

test('pairs have the ids of the definition', () => {
  const { pair, encode } = tokenizerOf(golden.tokenizer)
  for (const { first, second, ids } of golden.pairs)
    expect(encodePair(pair!, encode(first), encode(second), 10_000).words).toEqual(ids)
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
    ['of another type', 5],
    ['not base64', '\u2603'],
    ['empty', ''],
    ['whose trie is longer than it', encoded(Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 0))],
    ['whose trie is no whole number of units', encoded(Uint8Array.of(3, 0, 0, 0, 1, 2, 3, 4))],
  ])('%s is refused', (_, map) => {
    expect(() => withMap(map)).toThrow(
      expect.objectContaining({ code: 'format', message: expect.stringContaining('precompiled_charsmap') }),
    )
  })

  test('with any byte damaged gives a text or a typed error', () => {
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
