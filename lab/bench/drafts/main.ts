// npm run bench:drafts measures how much faster replies of real models are with drafts than without,
// for fifty prompts. Replies are greedy, and their text must be the same.
import { openAsBlob } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename } from 'node:path'
import { Command } from 'commander'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { SpeculationKind } from '../../../src/engine/api/types.ts'
import { openEngine } from '../../../test/conformance/testing/node-engine.ts'
import { modelPathOf } from '../real/model-path.ts'
import { spread, spreadText } from '../spread.ts'
import { type DraftPrompt, KINDS, type Kind, PROMPTS } from './prompts.ts'

/** One reply: milliseconds from its first token to its last, and the processor's for all of it. */
interface Run {
  readonly text: string
  readonly ms: number
  readonly processorMs: number
  readonly tokens: number
  readonly drafted: number
  readonly accepted: number
}

type Pair = Readonly<Record<'plain' | 'drafted', Run>>

async function reply(
  engine: Engine,
  { question, schema }: DraftPrompt,
  speculation: SpeculationKind,
  maxTokens: number,
): Promise<Run> {
  const session = engine.createSession()
  const before = process.cpuUsage()
  const options = { temperature: 0, maxTokens, speculation, ...(schema && { schema }) }
  const { text, usage, timings } = await session.send(question, options).result
  const { user, system } = process.cpuUsage(before)
  await session.dispose()
  return {
    text,
    ms: timings.decodeMs,
    processorMs: (user + system) / 1000,
    tokens: usage.completionTokens,
    drafted: usage.draftedTokens,
    accepted: usage.acceptedTokens,
  }
}

async function measure(engine: Engine, prompt: DraftPrompt, isPlainFirst: boolean): Promise<Pair> {
  // Reads the prompt, so that neither of the two does.
  await reply(engine, prompt, 'off', 1)
  const runOf = (kind: SpeculationKind) => reply(engine, prompt, kind, most)
  const early = isPlainFirst ? await runOf('off') : undefined
  const drafted = await runOf(draft === undefined ? 'lookup' : 'draft')
  const plain = early ?? (await runOf('off'))
  if (plain.text !== drafted.text) throw new Error(`${prompt.question}: the text differs with drafts`)
  return { plain, drafted }
}

function row(kind: Kind, pairs: readonly Pair[]): string {
  const sum = (of: (pair: Pair) => number) => pairs.reduce((total, pair) => total + of(pair), 0)
  const speed = (which: keyof Pair) =>
    ((1000 * sum((pair) => pair[which].tokens - 1)) / sum((pair) => pair[which].ms)).toFixed(1)
  const ratios = spread(pairs.map(({ plain, drafted }) => plain.ms / drafted.ms))
  const saved = spread(pairs.map(({ plain, drafted }) => plain.processorMs / drafted.processorMs))
  const counts = (['tokens', 'drafted', 'accepted'] as const).map((of) => sum((pair) => pair.drafted[of]))
  const cells = [pairs.length, ...counts, speed('plain'), speed('drafted'), spreadText(ratios, 2)]
  return `| ${[kind, ...cells, spreadText(saved, 2)].join(' | ')} |`
}

const options = new Command('bench:drafts')
  .description('Times replies of a real model with drafts and without, alternating.')
  .requiredOption('--model <name>', 'a model downloaded by npm run setup, or a file')
  .option('--draft <name>', 'a draft model; default: only lookup')
  .option('--threads <n>', 'threads', Number, 2)
  .option('--tokens <n>', 'maximum tokens per reply', Number, 200)
  .option('--limit <n>', 'maximum prompts of each kind', Number, PROMPTS.length)
  .option('--replies <file>', 'appends the replies as JSON lines, for replay.ts')
  .option('--kinds <names>', `of ${KINDS.join(', ')}`, (text) => text.split(',').map((name) => name.trim()))
  .parse()
  .opts<{
    model: string
    draft?: string
    threads: number
    tokens: number
    limit: number
    replies?: string
    kinds?: readonly string[]
  }>()
const { threads, tokens: most, draft } = options
const fileOf = async (named: string) => {
  const path = modelPathOf(named)
  return new File([await openAsBlob(path)], basename(path))
}
const file = await fileOf(options.model)
const engine = await openEngine([file], {
  threads,
  ...(draft !== undefined && { draft: [await fileOf(draft)] }),
})
try {
  const drafts = draft === undefined ? 'lookup' : `lookup and ${draft}`
  console.log(`${cpus().length} x ${cpus()[0]?.model}, ${file.name}, ${threads} threads, drafts: ${drafts}\n`)
  console.log(
    '| prompts | | tokens | drafted | accepted | tok/s without | with | times as fast | times less processor time |',
  )
  console.log('| --- | --: | --: | --: | --: | --: | --: | --: | --: |')
  for (const kind of options.kinds ?? KINDS) {
    const pairs: Pair[] = []
    for (const prompt of PROMPTS.filter((each) => each.kind === kind).slice(0, options.limit)) {
      const pair = await measure(engine, prompt, pairs.length % 2 === 0)
      pairs.push(pair)
      if (options.replies === undefined) continue
      await appendFile(options.replies, `${JSON.stringify({ ...prompt, text: pair.plain.text })}\n`)
    }
    console.log(row(kind as Kind, pairs))
  }
} finally {
  await engine.dispose()
}
