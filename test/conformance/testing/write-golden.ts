// Writes golden/greedy.json: the greedy replies of the named golden models, by default of all. Rejects the
// random model's reply if the best two tokens of a step are close.
import { writeFileSync } from 'node:fs'
import golden from '../golden/greedy.json' with { type: 'json' }
import {
  converse,
  GOLDEN_CASES,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  type GoldenReply,
  goldenFile,
  TALKING_MODELS,
} from './golden.ts'
import { logitsOf, openEngine, repositoryFile, withBuilt } from './node-engine.ts'

const MIN_LEAD = 0.01

const names = process.argv.slice(2)
const isWanted = ({ name }: { readonly name: string }) => names.length === 0 || names.includes(name)
const replies: Record<string, GoldenReply | string[]> = { ...golden }
for (const one of GOLDEN_CASES.filter(isWanted)) {
  const files = [await goldenFile(one)]
  const options = { build: 'simd128', weights: one.weights } as const
  await using engine = await openEngine(files, options)
  const { text, tokens } = await engine.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).result
  const lead = await withBuilt(files, options, async (built) => {
    const prompt = built.tokenizer.encode(GOLDEN_PROMPT, { addSpecial: true })
    const rows = await logitsOf(built, [...prompt, ...tokens.slice(0, -1)])
    return Math.min(...rows.slice(prompt.length - 1).map(leadOf))
  })
  if (lead < MIN_LEAD)
    throw new Error(`${one.name}: the best token leads by only ${lead}; choose another seed`)
  replies[one.name] = { text, tokens }
}
for (const { name, path } of TALKING_MODELS.filter(isWanted)) {
  await using embedded = await openEngine([repositoryFile(path)], { build: 'simd128' })
  replies[name] = await converse(embedded)
}
writeFileSync(new URL('../golden/greedy.json', import.meta.url), `${JSON.stringify(replies, undefined, 2)}\n`)

function leadOf(row: Float32Array): number {
  const [best = 0, next = 0] = row.toSorted((a, b) => b - a)
  return best - next
}
