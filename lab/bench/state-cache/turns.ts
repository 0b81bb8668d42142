// Measures the time to the first token of a turn whose past is cached, compared with processing only its new
// tokens.

import type { Sequence } from '../../../src/core/generate/schedule/sequence.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import { Engine } from '../../../src/engine/api/engine.ts'
import type { GenerationResult, Session } from '../../../src/engine/api/types.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import { loadModel } from '../../../src/engine/load/load-model.ts'
import { createService } from '../../../src/engine/service.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { Random } from '../../../test/helpers/random.ts'
import { spread, spreadText } from '../spread.ts'
import type { Options } from './main.ts'

const PLAIN = { temperature: 0, speculation: 'off' } as const
/** Restricts replies to texts that encode to the generated ids; with random weights, not all texts do. */
const LETTERS = { pattern: '[b-y]{8,}' } as const
const first = { ...PLAIN, maxTokens: 1 } as const

/** One kind of turn. `prepare` is not timed. */
interface Turn {
  readonly name: string
  prepare?(): Promise<unknown>
  send(text: string): Promise<GenerationResult>
}

export async function turns(model: URL, kvCache: KvFormat, options: Options): Promise<void> {
  const { threads, repeats, context, fresh } = options
  let built: BuiltModel | undefined
  const service = createService(async (request, hooks) => {
    const open = () => openModelFiles(model.pathname)
    built = await loadModel(request, hooks, nodeHost(), open)
    return built
  })
  // Room for the conversation, the one with which it is compared, and a restored one.
  const load = { threads, kvCache, contextLength: 3 * context }
  await using engine = await Engine.open(localConnection(service), [], load)
  let salt = 1
  const words = (length: number): string => {
    const random = new Random(++salt)
    return Array.from({ length }, () => String.fromCharCode(98 + random.below(24))).join('')
  }
  const idOf = (seed: number): number => (Math.imul(seed + 7, 0x9e3779b1) >>> 8) % built!.logitRows.vocab
  const session = engine.createSession()
  await session.send(words(context - 140), { ...PLAIN, ...LETTERS, maxTokens: 60 }).result
  await session.send(words(fresh), { ...PLAIN, ...LETTERS, maxTokens: 8 }).result
  const past = [...session.messages]
  const file = await session.save()
  const base = built!.newSequence()
  // Slightly longer than the conversation, because it stands in for all of its prefixes.
  const beginning = Array.from({ length: session.contextUsed + 100 }, (_, at) => idOf(at))
  base.setTokens(beginning)
  await firstToken(base)

  let other: Session | undefined
  const restoring: number[] = []
  const all: Turn[] = [
    {
      name: 'a third turn',
      prepare: async () => session.setMessages(past),
      send: (text) => session.send(text, first).result,
    },
    {
      name: 'an edited message',
      prepare: async () => session.setMessages(past),
      send: (text) => session.edit(2, text, first).result,
    },
    {
      name: 'a new fork',
      prepare: async () => {
        session.setMessages(past)
        await session.regenerate(first).result
        session.setMessages(past)
      },
      async send(text) {
        other = await session.fork()
        return other.send(text, first).result
      },
    },
    {
      name: 'a restored session',
      async prepare() {
        const start = performance.now()
        other = await engine.restoreSession(file)
        restoring.push(performance.now() - start)
      },
      send: (text) => other!.send(text, first).result,
    },
  ]
  const rows = all.map(({ name }) => ({
    name,
    ms: [] as number[],
    alone: [] as number[],
    ratio: [] as number[],
    tokens: 0,
    cached: 0,
  }))
  for (let repeat = -2; repeat < repeats; repeat++) {
    for (const [index, turn] of all.entries()) {
      await turn.prepare?.()
      const start = performance.now()
      const { usage } = await turn.send(words(fresh))
      const ms = performance.now() - start
      await other?.dispose()
      other = undefined
      const tokens = usage.promptTokens - usage.cachedTokens
      const alone = await readAlone(usage.cachedTokens, tokens)
      if (repeat < 0) continue
      const row = rows[index]!
      row.ms.push(ms)
      row.alone.push(alone)
      row.ratio.push(ms / alone)
      Object.assign(row, { tokens, cached: usage.cachedTokens })
    }
  }
  const whole = await readAlone(0, rows[0]!.tokens)
  const of = (values: readonly number[], digits: number) => spreadText(spread(values), digits)
  console.log('| turn | kept | new | first token ms | new tokens alone ms | ratio |')
  console.log('|---|--:|--:|--:|--:|--:|')
  for (const { name, ms, alone, ratio, tokens, cached } of rows)
    console.log(`| ${name} | ${cached} | ${tokens} | ${of(ms, 1)} | ${of(alone, 1)} | ${of(ratio, 3)} |`)
  console.log(
    `\nrestoring from a file of ${(file.size / 1e6).toFixed(1)} MB: ${of(restoring, 1)} ms; ` +
      `as many tokens as the first turn's, without earlier ones: ${whole.toFixed(1)} ms\n`,
  )
  base.release()

  /**
   * Milliseconds for processing `tokens` tokens after `kept` others whose state exists, without text,
   * sessions or messages.
   */
  async function readAlone(kept: number, tokens: number): Promise<number> {
    const ids = Array.from({ length: tokens }, (_, at) => idOf(at * 31 + ++salt * 7919))
    base.setTokens([...beginning.slice(0, kept), ...ids])
    if (base.cached !== kept) throw new Error(`${base.cached} of ${kept} positions were kept`)
    const ms = await firstToken(base)
    base.setTokens(beginning)
    if (base.cached < beginning.length - 1) await firstToken(base)
    return ms
  }

  async function firstToken(sequence: Sequence): Promise<number> {
    const start = performance.now()
    await built!.scheduler.generate({ sequence, sampler: GREEDY, maxTokens: 1 })
    return performance.now() - start
  }
}

const GREEDY = {
  sample(logits: Float32Array): number {
    let best = 0
    for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[best]!) best = id
    return best
  },
}
