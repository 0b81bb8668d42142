// Past findings: encoders' settings that ended in a raw error, and unigram tokenizers that took minutes or
// gigabytes.
import { bertFolder, randomBert } from '../../conformance/testing/random-bert.ts'
import type { CorpusEntry } from '../corpus.ts'
import type { Input } from '../input.ts'
import { charactersTable, unigram } from '../targets/encoders.ts'

const NO_TEXT = { toString: 1, valueOf: 2 }
const TEXTS = { text: 'the cat', other: 'a' }

/** A folder with one JSON file changed. */
const folder = (title: string, name: string, change: (value: object) => unknown): CorpusEntry => ({
  title,
  async input() {
    const parts = bertFolder(randomBert(1)).map(async (file, at): Promise<[string, string | Uint8Array]> => {
      const key = `${at}/${file.name}`
      if (file.name !== name) return [key, new Uint8Array(await file.arrayBuffer())]
      return [key, JSON.stringify(change(JSON.parse(await file.text())))]
    })
    return { kind: 'files', ...Object.fromEntries(await Promise.all(parts)), ...TEXTS }
  },
})

const tokenizer = (title: string, change: (json: ReturnType<typeof unigram>) => unknown, text: string) => ({
  title,
  input: (): Input => ({
    ...{ kind: 'unigram', spec: JSON.stringify(change(unigram(charactersTable()))) },
    ...{ text, other: 'a' },
  }),
})

const withPieces =
  (pieces: readonly (readonly [string, number])[]) => (json: ReturnType<typeof unigram>) => ({
    ...json,
    model: { ...json.model, vocab: [...json.model.vocab, ...pieces] },
  })

export const CORPUS: readonly CorpusEntry[] = [
  folder('a module type that cannot be converted to a string', 'modules.json', () => [
    { type: NO_TEXT, path: 'x' },
  ]),
  folder('a model_type that cannot be converted to a string', 'config.json', (config) => ({
    ...config,
    model_type: NO_TEXT,
    vision_config: {},
  })),
  tokenizer('a piece of 16,384 units', withPieces([['x'.repeat(16_384), -3]]), 'x'.repeat(10_000)),
  tokenizer(
    'pieces that are suffixes of each other',
    withPieces(Array.from({ length: 400 }, (_, at) => ['x'.repeat(at + 1), -1])),
    'x'.repeat(10_000),
  ),
  tokenizer(
    'tables that each lengthen a text',
    (json) => ({
      ...json,
      normalizer: { type: 'Sequence', normalizers: Array(30).fill(json.normalizer.normalizers[0]) },
    }),
    'a'.repeat(100),
  ),
]
