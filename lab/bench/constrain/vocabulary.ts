// Makes a vocabulary of any size from the tokens of several byte-level BPE models.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import type { ModelVocabulary } from '../../../src/core/constrain/compile.ts'
import { createTokenizer } from '../../../src/core/text/tokenize/read/create.ts'

/**
 * The distinct tokens of all files, in order, up to `size`, and if there are too few, pairs of them, like
 * merges. The last id is the end-of-text token.
 */
export async function joinedVocabulary(paths: readonly string[], size: number): Promise<ModelVocabulary> {
  const tokens: Uint8Array[] = []
  const seen = new Set<string>()
  const add = (bytes: Uint8Array) => {
    const key = bytes.join()
    if (bytes.length === 0 || seen.has(key) || tokens.length >= size - 1) return
    seen.add(key)
    tokens.push(bytes)
  }
  for (const path of paths) {
    const { tokenizer } = await openModel([bufferSource(basename(path), readFileSync(path))])
    if (tokenizer === undefined) throw new Error(`${path} has no tokenizer`)
    const one = createTokenizer(tokenizer)
    for (let id = 0; id < one.vocabSize; id++) if (!one.isSpecial(id)) add(one.tokenBytes(id))
  }
  const single = tokens.length
  for (let pair = 0; tokens.length < size - 1; pair++) {
    const left = tokens[(pair * 31) % single]!
    const right = tokens[(pair * 17 + 256) % single]!
    add(Uint8Array.of(...left, ...right))
  }
  const ids = new Map(tokens.map((bytes, id) => [bytes.join(), id]))
  return {
    vocabSize: size,
    tokenBytes: (id) => tokens[id] ?? new Uint8Array(0),
    isSpecial: (id) => id === size - 1,
    idOf: (text) => ids.get(new TextEncoder().encode(text).join()),
    encode: () => [],
  }
}
