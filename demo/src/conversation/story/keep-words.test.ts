// The story processor. In: a vocabulary of words, and the embedded model. Out: shifted logits, and stories
// that contain the requested words.
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { EXACT_KV } from '../../../../src/core/graph/ir.ts'
import { openEngine } from '../../../../src/tools/cli/command-engine.ts'
import keepWords from './keep-words.ts'

const VOCABULARY = [
  '<|user|>',
  '<|assistant|>',
  '<|end|>',
  ' a',
  ' fox',
  ' wal',
  'rus',
  ' story',
  ' about',
  ' saw',
  ' the',
  ' an',
]
/** Prefers the longest pieces, as in the vocabulary here. */
const tokenize = (text: string) => {
  const ids: number[] = []
  let rest = text.startsWith('<') ? text : ` ${text}`
  while (rest !== '') {
    const piece = VOCABULARY.filter((each) => rest.startsWith(each)).sort((a, b) => b.length - a.length)[0]
    if (piece === undefined) throw new Error(`the vocabulary has no start of ${rest}`)
    ids.push(VOCABULARY.indexOf(piece))
    rest = rest.slice(piece.length)
  }
  return ids
}

/** The change to each logit after these texts; `logits` default to zeros. */
function shifts(
  texts: readonly string[],
  logits: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const process = keepWords({ vocab: VOCABULARY.length, tokenize, tokenText: (id) => VOCABULARY[id]! })
  const tokens: number[] = []
  let changed = new Float32Array()
  const before = Float32Array.from(VOCABULARY, (piece) => logits[piece] ?? 0)
  for (const text of texts) {
    tokens.push(...tokenize(text))
    changed = before.slice()
    process(changed, tokens, tokens.length)
  }
  const entries = VOCABULARY.map((piece, id) => [piece, changed[id]! - before[id]!] as const)
  return Object.fromEntries(entries.filter(([, shift]) => shift !== 0))
}

const FOX = '<|user|> a story about a fox<|end|><|assistant|>'
const WALRUS = '<|user|> a story about a walrus<|end|><|assistant|>'

test('a requested word becomes likelier the longer it is missing', () => {
  expect(shifts([FOX])).toEqual({ ' fox': 2 })
  expect(shifts([FOX, 'saw'])[' fox']).toBeCloseTo(2 + 3 / 80)
  expect(shifts([FOX, ...Array.from({ length: 100 }, () => 'saw')])).toEqual({ ' fox': 5 })
})

test('a sentence without a place for the word is unchanged, but after an article there is one', () => {
  expect(shifts([FOX], { ' fox': -9 })).toEqual({})
  expect(shifts([FOX, 'saw a'], { ' fox': -9 })[' fox']).toBeCloseTo(2 * (2 + (2 * 3) / 80))
  expect(shifts([FOX, 'saw a'], { ' fox': -17 })).toEqual({})
})

test('a word that has begun is continued, and a word already present gets no shift', () => {
  expect(shifts([WALRUS, 'a'])[' wal']).toBeGreaterThan(4)
  expect(shifts([WALRUS, 'a wal'])).toEqual({ rus: 8 })
  expect(shifts([WALRUS, 'a walrus', 'saw a'])).toEqual({})
  expect(shifts(['<|user|> a story about a fox<|end|><|assistant|> the fox', 'saw a'])).toEqual({})
})

test('only the last request counts, and one that is not for a story requires nothing', () => {
  expect(shifts([`${FOX} the fox<|end|><|user|> a story about a walrus<|end|><|assistant|>`])).toEqual({
    ' wal': 2,
  })
  expect(shifts(['<|user|> a fox<|end|><|assistant|>'])).toEqual({})
})

test('the embedded model tells stories about the requested words', async () => {
  const never = new AbortController().signal
  const file = fileURLToPath(new URL('../../../models/halfbyte-stories.hbm', import.meta.url))
  const processors = [new URL('./keep-words.ts', import.meta.url).href]
  await using engine = await openEngine(
    file,
    { threads: 1, build: 'auto', weights: 'auto', kv: EXACT_KV },
    never,
  )
  const kept = async (options: { processors?: string[] }) => {
    let count = 0
    for (const words of ['boat lake', 'snowman friend', 'walrus lighthouse'].map((each) => each.split(' '))) {
      for (let seed = 1; seed <= 3; seed++) {
        const session = engine.createSession()
        const question = `Tell me a story about a ${words[0]} and a ${words[1]}.`
        const { text } = await session.send(question, { seed, maxTokens: 250, ...options }).result
        count += words.filter((word) => text.toLowerCase().includes(word)).length
        await session.dispose()
      }
    }
    return count
  }
  expect(await kept({ processors })).toBeGreaterThanOrEqual(17)
  expect(await kept({})).toBeLessThan(15)
})
