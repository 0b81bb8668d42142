// Times sequences together and one by one, drafts, and background work.
import { Sampler } from '../../../src/core/generate/sampler/sampler.ts'
import type { SequenceRequest } from '../../../src/core/generate/schedule/generate-work.ts'
import type { Sequence } from '../../../src/core/generate/schedule/sequence.ts'
import type { Drafter } from '../../../src/core/generate/schedule/speculation.ts'
import { LookupDrafter } from '../../../src/core/generate/speculate/draft-lookup.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import { type Spread, spread } from '../spread.ts'
import { measureTexts } from './texts.ts'

export interface Job {
  readonly type: 'measure'
  readonly modelUrl: string
  readonly threads: number
  readonly parts: readonly Part[]
  readonly rounds: number
  /** Tokens of each text; three times as many with drafts, four times as many for a model's own texts. */
  readonly tokens: number
  readonly sequences: readonly number[]
  /** Probability that a draft after correct ones is correct. */
  readonly rates: readonly number[]
}
export const PARTS = ['sequences', 'drafts', 'texts', 'background'] as const
export type Part = (typeof PARTS)[number]

export type Report =
  | { readonly type: 'done'; readonly measured: Measured }
  | { readonly type: 'failed'; readonly message: string }

/** Milliseconds, and the speed relative to `base` in the same round. */
export interface Figure {
  readonly name: string
  readonly ms: Spread
  readonly ratio: Spread
  readonly note: string
}
export interface Measured {
  readonly threads: number
  readonly build: string
  readonly figures: readonly Figure[]
}

/** Tokens of each prompt. */
export const PROMPT = 64

export async function measure(model: BuiltModel, job: Job): Promise<Measured> {
  const bench = new Bench(model)
  const figures: Figure[] = []
  // The first rounds warm up the code and the memory pages.
  await bench.run([bench.sequence(0)], 8)
  if (job.parts.includes('sequences')) figures.push(...(await measureSequences(bench, job)))
  if (job.parts.includes('drafts')) figures.push(...(await measureDrafts(bench, job)))
  if (job.parts.includes('texts')) figures.push(...(await measureTexts(bench, model, job)))
  if (job.parts.includes('background')) figures.push(...(await measureBackground(bench, job)))
  return { threads: model.info.threads, build: model.info.build, figures }
}

export class Bench {
  readonly #model: BuiltModel

  constructor(model: BuiltModel) {
    this.#model = model
  }

  /** A prompt of random tokens; texts with different salts have nothing in common. */
  sequence(salt: number, length = PROMPT): Sequence {
    const sequence = this.#model.newSequence()
    const { vocabSize } = this.#model.tokenizer
    const ids = Array.from(
      { length },
      (_, index) => (Math.imul(salt * 9973 + index + 1, 0x9e3779b1) >>> 15) % vocabSize,
    )
    sequence.setTokens(ids)
    return sequence
  }

  /** Processes the prompts without measuring them, so that only decoding is measured. */
  async prefill(sequences: readonly Sequence[]): Promise<void> {
    for (const sequence of sequences) {
      const { tokens } = sequence
      if (sequence.cached === tokens.length - 1) continue
      const ids = tokens.slice(0, PROMPT)
      await this.run([sequence], 1)
      sequence.setTokens(ids)
    }
  }

  /** Milliseconds until all sequences have their tokens. */
  async run(
    sequences: readonly Sequence[],
    maxTokens: number,
    options: Partial<SequenceRequest> = {},
  ): Promise<{ ms: number; drafted: number; accepted: number }> {
    const start = performance.now()
    const outcomes = await Promise.all(
      sequences.map((sequence) => {
        const sampler = new Sampler(this.#model.logitRows, { temperature: 0 })
        return this.#model.scheduler.generate({ sequence, sampler, maxTokens, ...options })
      }),
    )
    const ms = performance.now() - start
    const sum = (of: (timings: (typeof outcomes)[0]['timings']) => number) =>
      outcomes.reduce((total, { timings }) => total + of(timings), 0)
    return { ms, drafted: sum((each) => each.draftedTokens), accepted: sum((each) => each.acceptedTokens) }
  }
}

async function measureSequences(bench: Bench, { rounds, tokens, sequences }: Job): Promise<Figure[]> {
  const all = Array.from({ length: Math.max(...sequences) }, (_, salt) => bench.sequence(salt))
  await bench.prefill(all)
  const back = () => {
    for (const sequence of all) sequence.setTokens(sequence.tokens.slice(0, PROMPT))
  }
  const times = new Map<number, number[]>()
  const bases: number[] = []
  for (let round = 0; round < rounds; round++) {
    // Runs the sequences one after another. A few of them suffice for a time per sequence.
    const one: number[] = []
    for (const sequence of all.slice(0, 3)) {
      back()
      one.push((await bench.run([sequence], tokens)).ms)
    }
    bases.push(one.reduce((sum, ms) => sum + ms, 0) / one.length)
    for (const count of sequences) {
      back()
      const { ms } = await bench.run(all.slice(0, count), tokens)
      times.set(count, [...(times.get(count) ?? []), ms])
    }
  }
  for (const sequence of all) sequence.release()
  return [...times].map(([count, ms]) => ({
    name: `${count} sequences at once`,
    ms: spread(ms),
    ratio: spread(ms.map((each, round) => (count * bases[round]!) / each)),
    note: `${tokens} tokens each; ${((count * tokens * 1000) / spread(ms).median).toFixed(0)} tokens/s in all`,
  }))
}

/**
 * A drafter that knows the text. Each of its drafts is correct with the same probability, independently of
 * the others.
 */
function prophet(text: readonly number[], rate: number, seed: number): Drafter {
  let length = 0
  return {
    msPerDraft: 0,
    gradeAt: () => 0,
    look(tokens) {
      length = tokens.length
      return Number.POSITIVE_INFINITY
    },
    draft(count, out) {
      for (let index = 0; index < count; index++) {
        const at = length + index
        out[index] = chance(at, seed) < rate ? (text[at] ?? 0) : 0
      }
      return count
    },
  }
}

/** A pseudorandom number below 1 for each position: MurmurHash3's last steps. */
function chance(at: number, seed: number): number {
  let hash = Math.imul(at, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

async function measureDrafts(bench: Bench, { rounds, tokens, rates }: Job): Promise<Figure[]> {
  const count = tokens * 3
  const sequence = bench.sequence(77)
  await bench.prefill([sequence])
  const prompt = [...sequence.tokens]
  await bench.run([sequence], count)
  const text = [...sequence.tokens]
  const cases: (readonly [string, (round: number) => readonly Drafter[]])[] = [
    ['no drafts', () => []],
    ...rates.map(
      (rate) => [`drafts right at ${rate * 100} %`, (round: number) => [prophet(text, rate, round)]] as const,
    ),
    ['lookup', () => [new LookupDrafter()]],
  ]
  const times = new Map<string, number[]>()
  const drafts = new Map<string, { drafted: number; accepted: number }>()
  for (let round = 0; round < rounds; round++) {
    for (const [name, draftersOf] of cases) {
      sequence.setTokens(prompt)
      const { ms, drafted, accepted } = await bench.run([sequence], count, { drafters: draftersOf(round) })
      if (sequence.tokens.some((id, index) => id !== text[index])) throw new Error(`${name}: another text`)
      times.set(name, [...(times.get(name) ?? []), ms])
      const sum = drafts.get(name) ?? { drafted: 0, accepted: 0 }
      drafts.set(name, { drafted: sum.drafted + drafted, accepted: sum.accepted + accepted })
    }
  }
  sequence.release()
  const bases = times.get('no drafts')!
  return [...times].map(([name, ms]) => ({
    name,
    ms: spread(ms),
    ratio: spread(ms.map((each, round) => bases[round]! / each)),
    note: noteOf(count, rounds, drafts.get(name)!),
  }))
}

const noteOf = (
  tokens: number,
  rounds: number,
  { drafted, accepted }: { drafted: number; accepted: number },
) =>
  `${tokens} tokens, ${(drafted / rounds).toFixed(1)} drafted, ${(accepted / rounds).toFixed(1)} of them right`

async function measureBackground(bench: Bench, { rounds, tokens }: Job): Promise<Figure[]> {
  const count = tokens * 3
  const chat = bench.sequence(5)
  await bench.prefill([chat])
  const prompt = [...chat.tokens]
  const times = new Map<string, number[]>()
  for (let round = 0; round < rounds; round++) {
    for (const priority of [undefined, 'background', 'foreground'] as const) {
      chat.setTokens(prompt)
      const abort = new AbortController()
      const title = bench.sequence(1000 + round, 400)
      const beside =
        priority && bench.run([title], 30, { priority, signal: abort.signal }).catch(() => undefined)
      const { ms } = await bench.run([chat], count)
      abort.abort()
      await beside
      title.release()
      const name = priority === undefined ? 'a chat alone' : `alongside 400 + 30 tokens, ${priority}`
      times.set(name, [...(times.get(name) ?? []), ms])
    }
  }
  chat.release()
  const bases = times.get('a chat alone')!
  return [...times].map(([name, ms]) => ({
    name,
    ms: spread(ms),
    ratio: spread(ms.map((each, round) => bases[round]! / each)),
    note: `${count} tokens of the chat`,
  }))
}
