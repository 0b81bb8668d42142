// npm run bench:shift compares a shifted context with one that is read again: the quality of the model's
// predictions for the following text, and the time until they are available.
import { readdir, readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { Command } from 'commander'
import type { Sequence } from '../../../src/core/generate/schedule/sequence.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import { withModel } from '../../../src/tools/cli/models/model.ts'
import { spread } from '../spread.ts'

interface Options {
  readonly models: string[]
  readonly kv: string
  readonly threads: number
  readonly context: number
  readonly keep: number
  readonly next: number
  readonly excerpts: number
}
const options = new Command('bench:shift')
  .description(
    'Compares a shifted context with one that is read again, on real models and this guide as text.',
  )
  .requiredOption('--models <list>', 'GGUF files', (text) => text.split(','))
  .option('--kv <format>', 'f32 or int8', 'f32')
  .option('--threads <n>', 'threads', Number, 1)
  .option('--context <n>', 'tokens before the shift', Number, 1024)
  .option('--keep <n>', 'first tokens that stay', Number, 32)
  .option('--next <n>', 'tokens to predict after the shift', Number, 200)
  .option('--excerpts <n>', 'excerpts of the text', Number, 8)
  .parse()
  .opts<Options>()

/** Natural logarithms of the probabilities of a row. */
function logProbabilities(row: Float32Array): Float64Array {
  const peak = row.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
  const norm = peak + Math.log(row.reduce((sum, value) => sum + Math.exp(value - peak), 0))
  return Float64Array.from(row, (value) => value - norm)
}

const KINDS = ['whole', 'read again', 'shifted'] as const
type Kind = (typeof KINDS)[number]

interface Sums {
  tokens: number
  readonly loss: Record<Kind, number>
  /**
   * Divergence of the shifted distributions from those after reading again, and of the latter from those with
   * the whole text.
   */
  readonly kl: { shifted: number; again: number }
  same: number
}

/** The rows that predict `next` after `prompt`, and the milliseconds until the first of them. */
async function rowsAfter(
  { scheduler }: BuiltModel,
  sequence: Sequence,
  prompt: readonly number[],
  next: readonly number[],
  isShortened = false,
) {
  const start = performance.now()
  const { keep } = options
  sequence.setTokens(prompt, { keep, isShortened })
  const rows: Float64Array[] = []
  const onLogits = (_: number, row: Float32Array) => void rows.push(logProbabilities(row))
  await scheduler.forward({ sequence, onLogits })
  const ms = performance.now() - start
  sequence.setTokens([...prompt, ...next.slice(0, -1)], { keep })
  await scheduler.forward({ sequence, logits: 'all', onLogits })
  return { rows, ms }
}

async function measure(built: BuiltModel, ids: readonly number[], sums: Sums, times: Record<Kind, number[]>) {
  const { context, keep, next: count } = options
  const before = ids.slice(0, context)
  const next = ids.slice(context, context + count)
  const drop = Math.floor((context - keep) / 2)
  const shorter = [...before.slice(0, keep), ...before.slice(keep + drop)]
  const [whole, again, shifted] = [0, 1, 2].map(() => built.newSequence()) as [Sequence, Sequence, Sequence]
  try {
    // The state to shift: everything but the last token, as after an answer.
    shifted.setTokens(before.slice(0, -1), { keep })
    await built.scheduler.forward({ sequence: shifted, onLogits: () => undefined })
    const found = {
      whole: await rowsAfter(built, whole, before, next),
      'read again': await rowsAfter(built, again, shorter, next),
      shifted: await rowsAfter(built, shifted, shorter, next, true),
    }
    for (const kind of KINDS) times[kind].push(found[kind].ms)
    for (const [index, id] of next.entries()) {
      const row = (kind: Kind) => found[kind].rows[index] as Float64Array
      for (const kind of KINDS) sums.loss[kind] -= row(kind)[id] as number
      sums.kl.shifted += divergence(row('read again'), row('shifted'))
      sums.kl.again += divergence(row('whole'), row('read again'))
      if (topOf(row('read again')) === topOf(row('shifted'))) sums.same++
      sums.tokens++
    }
  } finally {
    for (const sequence of [whole, again, shifted]) sequence.release()
  }
}

const divergence = (from: Float64Array, to: Float64Array): number =>
  from.reduce((sum, log, id) => sum + Math.exp(log) * (log - (to[id] as number)), 0)

const topOf = (row: Float64Array): number =>
  row.reduce((best, log, id) => (log > (row[best] as number) ? id : best), 0)

const folder = new URL('../../../docs/guide/', import.meta.url)
const names = (await readdir(folder)).filter((name) => name.endsWith('.md')).sort()
const text = (await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))).join('\n')
const kv: KvFormat = options.kv === 'int8' ? { k: 'int8', v: 'int8' } : { k: 'f32', v: 'f32' }
console.log(
  `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, K and V ${options.kv}, ${options.threads} threads, ` +
    `${options.context} tokens, ${options.excerpts} excerpts of the guide, ${options.next} tokens after each\n`,
)
console.log(
  '| model | perplexity: whole | read again | shifted | KL shifted | KL read again | same top | ms read again | ms shifted |',
)
console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|')
for (const model of options.models) {
  const { threads, context, next, excerpts } = options
  const flags = { threads, build: 'auto', weights: 'auto', kv, context: 2 * context } as const
  await withModel(model, flags, new AbortController().signal, async (built) => {
    const ids = built.text.encode(text, false)
    const sums: Sums = {
      tokens: 0,
      loss: { whole: 0, 'read again': 0, shifted: 0 },
      kl: { shifted: 0, again: 0 },
      same: 0,
    }
    const times: Record<Kind, number[]> = { whole: [], 'read again': [], shifted: [] }
    const start = built.text.encode('', true)
    for (let excerpt = 0; excerpt < excerpts; excerpt++) {
      const at = Math.floor((excerpt * (ids.length - context - next)) / excerpts)
      await measure(built, [...start, ...ids.slice(at, at + context + next)], sums, times)
    }
    const perplexity = (kind: Kind) => Math.exp(sums.loss[kind] / sums.tokens).toFixed(3)
    console.log(
      `| ${model.split('/').at(-1)} | ${KINDS.map(perplexity).join(' | ')} | ${(sums.kl.shifted / sums.tokens).toFixed(4)} | ` +
        `${(sums.kl.again / sums.tokens).toFixed(4)} | ${((100 * sums.same) / sums.tokens).toFixed(1)} % | ` +
        `${spread(times['read again']).median.toFixed(0)} | ${spread(times.shifted).median.toFixed(0)} |`,
    )
  })
}
