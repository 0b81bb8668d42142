// Past findings: packs with correct hashes and a false header.

import { byteLevelSpec } from '../../../src/core/text/testing/tiny.ts'
import { FAMILY_CASES } from '../../conformance/testing/families/family-cases.ts'
import { safetensorsFiles } from '../../conformance/testing/model-files.ts'
import type { CorpusEntry } from '../corpus.ts'
import { tinyLlama } from '../models.ts'
import { textOfTree } from '../mutate/json-tree.ts'
import { forgedPack, packOf } from '../packs.ts'
import { nestedLists, TRAP } from './values.ts'

interface Header {
  readonly config: object
  readonly tokenizer: object
  readonly tensors: readonly { readonly name: string }[]
}

const entry = (title: string, change: (header: Header) => object, depth = 'plan'): CorpusEntry => ({
  title,
  async input() {
    const { header, data } = await packOf(safetensorsFiles(tinyLlama()))
    const good = JSON.parse(textOfTree(header)) as Header
    return { 'model.hbm': forgedPack(JSON.stringify({ ...good, ...change(good) }), data), depth }
  },
})
const FAMILIES = ['qwen2', 'mamba', 'mamba2', 'granitehybrid', ...FAMILY_CASES.map(({ family }) => family)]
const spec = byteLevelSpec()
const tokenizer = (title: string, changes: object) =>
  entry(title, () => ({ tokenizer: { ...spec, ...changes } }))
const config = (title: string, changes: object) =>
  entry(title, (good) => ({ config: { ...good.config, ...changes } }))

export const CORPUS: readonly CorpusEntry[] = [
  tokenizer('merges that are an object', { merges: {} }),
  tokenizer('merges that are a number', { merges: 5 }),
  tokenizer('merges that are numbers', { merges: [1, 2] }),
  tokenizer('types that are null', { types: null }),
  tokenizer('scores that are a number', { model: 'llama', merges: undefined, scores: 5 }),
  tokenizer('a type that is an object', { types: spec.tokens.map(() => TRAP) }),
  tokenizer('an id that is an object', { bosId: TRAP }),
  tokenizer('a kind of tokenizer that is an object', { model: TRAP }),
  tokenizer('a pre-tokeniser that is an object', { pre: TRAP }),
  tokenizer('a template that is an object', { chatTemplate: TRAP }),
  tokenizer('a template that is a list', { chatTemplate: [1] }),
  ...FAMILIES.map((family) => config(`tensors of llama for ${family}`, { family })),
  config('an object for a number', { layers: TRAP }),
  entry('tensors of another family', ({ tensors }) => ({
    tensors: tensors.filter(({ name }) => !name.includes('attn_q')),
  })),
  entry('an object for a tensor\u2019s name', ({ tensors }) => ({
    tensors: tensors.map((tensor, index) => (index === 0 ? { ...tensor, name: TRAP } : tensor)),
  })),
  {
    title: 'a header of 32 MB of lists',
    input: () => ({ 'model.hbm': forgedPack('['.repeat(32 << 20), new Uint8Array(64)), depth: 'plan' }),
  },
  {
    title: 'a header of lists in lists, 20,000 deep',
    input: () => ({
      'model.hbm': forgedPack(
        `{"name":"x","config":{"a":${nestedLists(20_000)}},"tensors":[]}`,
        new Uint8Array(0),
      ),
      depth: 'plan',
    }),
  },
]
