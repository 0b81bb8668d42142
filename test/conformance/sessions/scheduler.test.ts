// The scheduler on the small Llama. In: many sessions, guidance, drafts, aborts. Out: whether each text is
// the same as when run alone.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { Sampler } from '../../../src/core/generate/sampler/sampler.ts'
import type { Drafter } from '../../../src/core/generate/schedule/speculation.ts'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { GenerateOptions, Generation } from '../../../src/engine/api/types.ts'
import { type BuiltModel, buildModel } from '../../../src/engine/load/build-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { TINY_PATH } from '../testing/golden.ts'
import { logitsOf, openEngine, repositoryFile } from '../testing/node-engine.ts'

const GREEDY: GenerateOptions = { temperature: 0, maxTokens: 40 }
const PROMPTS = [
  'Tell me a story.',
  'Why does the rain fall?',
  'once upon a time there was a small house by the sea and '.repeat(6),
  'Hi',
  'What is your name?',
  'the dog and the cat and the dog and the cat and the dog',
  'Say it again: the river goes to the sea. '.repeat(3),
  'One, two, three,',
]

describe.each([1, 2])('eight sessions on %d threads', (threads) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openEngine([repositoryFile(TINY_PATH)], { threads })
  })
  afterAll(() => engine.dispose())

  /** Half of them chat; the others continue plain text. */
  const ask = (index: number, options: GenerateOptions): Generation =>
    index % 2 === 0
      ? engine.createSession().send(PROMPTS[index]!, options)
      : engine.complete(PROMPTS[index]!, options)
  const tokensOf = async (generation: Generation) => (await generation.result).tokens

  test('that run together, with drafts or in the background, reply as they do alone', async () => {
    const alone: (readonly number[])[] = []
    for (const index of PROMPTS.keys())
      alone.push(await tokensOf(ask(index, { ...GREEDY, speculation: 'off' })))
    expect(new Set(alone.map(String)).size).toBeGreaterThan(5)
    for (const speculation of ['off', 'lookup'] as const) {
      const together = PROMPTS.map((_, index) => {
        const priority = index % 3 === 0 ? 'background' : 'foreground'
        return tokensOf(ask(index, { ...GREEDY, speculation, priority }))
      })
      expect(await Promise.all(together)).toEqual(alone)
    }
  })

  test('reply as they do alone while others start and end', async () => {
    const alone = await Promise.all([0, 1, 2, 3].map((index) => tokensOf(ask(index, GREEDY))))
    const running = [0, 1, 2, 3].map((index) => tokensOf(ask(index, GREEDY)))
    const passing = [4, 5, 6, 7].map(async (index) => {
      const controller = new AbortController()
      const generation = ask(index, { temperature: 0, signal: controller.signal })
      let chunks = 0
      try {
        for await (const _ of generation) if (++chunks === index) controller.abort('enough')
      } catch (error) {
        return error
      }
      return undefined
    })
    const late = running[3]!.then(() => tokensOf(ask(0, GREEDY)))
    expect(await Promise.all(passing)).toEqual(['enough', 'enough', 'enough', 'enough'])
    expect(await Promise.all(running)).toEqual(alone)
    expect(await late).toEqual(alone[0])
  })

  test('give the same tokens with a seed and drafts as without drafts', async () => {
    const draw = (index: number, speculation: 'off' | 'lookup') =>
      tokensOf(ask(index, { maxTokens: 60, temperature: 1.1, repeatPenalty: 1.05, seed: index, speculation }))
    const plain = await Promise.all(PROMPTS.map((_, index) => draw(index, 'off')))
    expect(await Promise.all(PROMPTS.map((_, index) => draw(index, 'lookup')))).toEqual(plain)
  })
})

describe('guidance', () => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openEngine([repositoryFile(TINY_PATH)])
  })
  afterAll(() => engine.dispose())

  test('changes the reply, keeps no state, and has no effect at scale 1', async () => {
    const ask = async (options: GenerateOptions) =>
      (await engine.complete('The little boat', { temperature: 0, maxTokens: 30, ...options }).result).tokens
    const negativePrompt = 'A cat sat on a mat.'
    const plain = await ask({})
    expect(await ask({ cfgScale: 1, negativePrompt })).toEqual(plain)
    const guided = await ask({ cfgScale: 3, negativePrompt })
    expect(guided).not.toEqual(plain)
    expect(await ask({ cfgScale: 3, negativePrompt, speculation: 'off' })).toEqual(guided)
    expect(await ask({ cfgScale: 3 })).not.toEqual(guided)
    const drawn = { temperature: 1, seed: 5 }
    expect(await ask({ ...drawn, cfgScale: 1, negativePrompt })).toEqual(await ask(drawn))
    expect((await engine.memory()).stateBytes).toBe(0)
  })

  test('rejects unsupported requests', async () => {
    const code = (options: GenerateOptions) =>
      engine.complete('a', { maxTokens: 2, ...options }).result.then(
        () => 'none',
        ({ code }) => code,
      )
    expect(await code({ cfgScale: 2, negativePrompt: 'the sea '.repeat(4000) })).toBe('context-overflow')
    expect(await code({ speculation: 'draft' })).toBe('unsupported')
    expect(await code({ speculation: 'often' as 'off' })).toBe('unsupported')
    expect(await code({ priority: 'high' as 'background' })).toBe('unsupported')
    expect((await engine.memory()).stateBytes).toBe(0)
  })
})

describe('in the scheduler itself', () => {
  let built: BuiltModel
  /**
   * Each reading of the clock is 1 ms later, so steps of any size cost the same and drafts always pay off.
   */
  beforeAll(async () => {
    const file = repositoryFile(TINY_PATH)
    const model = await openModel([blobSource(file.name, file)])
    const prepared = await prepareModel(model, { weights: 'auto' })
    let ms = 0
    const host = { ...nodeHost(), now: () => ms++ }
    const hooks = { signal: new AbortController().signal, onProgress: () => undefined }
    built = await buildModel(prepared, { host, threads: 1, build: 'auto' }, hooks)
  })
  afterAll(() => built.dispose())

  test('guidance combines the rows of two separate runs, bit for bit', async () => {
    const prompt = built.text.encode('Tell me of', true)
    const negative = built.text.encode('A dog, a', true)
    const sequence = built.newSequence()
    const guide = built.newSequence()
    sequence.setTokens(prompt)
    guide.setTokens(negative)
    const scale = 1.5
    const chain = new Sampler(built.logitRows, { temperature: 0, cfgScale: scale })
    const seen: { own: Float32Array; guide: Float32Array; combined: Float32Array }[] = []
    const sampler = {
      sample(own: Float32Array, history: ArrayLike<number>, length?: number, other?: Float32Array): number {
        const before = { own: own.slice(), guide: other!.slice() }
        const id = chain.sample(own, history, length, other)
        seen.push({ ...before, combined: own.slice() })
        return id
      },
    }
    await built.scheduler.generate({ sequence, guide, sampler, maxTokens: 12 })
    const said = sequence.tokens.slice(prompt.length)
    expect(guide.tokens.slice(negative.length)).toEqual(said)
    const single = async (ids: readonly number[]) =>
      (await logitsOf(built, [...ids, ...said.slice(0, -1)])).slice(ids.length - 1)
    const owns = await single(prompt)
    const guides = await single(negative)
    for (const [index, { own, guide, combined }] of seen.entries()) {
      expect(own).toEqual(owns[index])
      expect(guide).toEqual(guides[index])
      const byHand = own.map((logit, id) =>
        Math.fround(guide[id]! + Math.fround(scale * Math.fround(logit - guide[id]!))),
      )
      expect(combined).toEqual(byHand)
    }
    expect(seen).toHaveLength(12)
    sequence.release()
    guide.release()
  })

  test('sampling with drafts follows the distribution of the model', async () => {
    const prompt = built.text.encode('She said', true)
    const chain = { temperature: 1, topK: 0, topP: 1, minP: 0 } as const
    const sequence = built.newSequence()
    const greedy: number[] = []
    sequence.setTokens(prompt)
    await built.scheduler.generate({
      sequence,
      sampler: new Sampler(built.logitRows, { temperature: 0 }),
      maxTokens: 3,
      onToken: (id) => void greedy.push(id),
    })
    // Always drafts the most likely text, which is accepted only sometimes.
    const drafter: Drafter = {
      msPerDraft: 0,
      gradeAt: () => 0,
      look: (tokens) => (tokens.length === prompt.length + 1 && tokens.at(-1) === greedy[0] ? 2 : 0),
      draft(count, out) {
        out.set(greedy.slice(1, 1 + count))
        return count
      },
    }
    const draws = 2000
    const seconds = new Map<number, number>()
    const thirds = new Map<number, number>()
    let firsts = 0
    let accepted = 0
    let drafted = 0
    for (let seed = 0; seed < draws; seed++) {
      // The first token is fixed, so every sample depends on drafts.
      sequence.setTokens(prompt)
      const sampler = new Sampler(built.logitRows, { ...chain, forcedTokens: greedy.slice(0, 1), seed })
      const { timings } = await built.scheduler.generate({
        sequence,
        sampler,
        drafters: [drafter],
        maxTokens: 3,
      })
      const [first, second, third] = sequence.tokens.slice(prompt.length)
      expect(first).toBe(greedy[0])
      firsts++
      accepted += timings.acceptedTokens
      drafted += timings.draftedTokens
      seconds.set(second!, (seconds.get(second!) ?? 0) + 1)
      if (second === greedy[1]) thirds.set(third!, (thirds.get(third!) ?? 0) + 1)
    }
    // maxTokens leaves room for one draft. The third token is sampled after the second, whether or not that
    // was a draft.
    expect(drafted).toBe(firsts)
    expect(accepted).toBe(seconds.get(greedy[1]!))
    const rows = await logitsOf(built, [...prompt, ...greedy.slice(0, 2)])
    expect(chiSquare(seconds, rows.at(-2)!)).toBeLessThan(4)
    expect(chiSquare(thirds, rows.at(-1)!)).toBeLessThan(4)
    sequence.release()
  })
})

/**
 * How many standard deviations the statistic is above its expected value. Ids with few samples are pooled.
 */
function chiSquare(counts: ReadonlyMap<number, number>, logits: Float32Array): number {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const most = Math.max(...logits)
  const weights = Float64Array.from(logits, (logit) => Math.exp(logit - most))
  const sum = weights.reduce((left, right) => left + right)
  let statistic = 0
  let cells = 0
  let restSeen = 0
  let restExpected = 0
  for (const [id, weight] of weights.entries()) {
    const expected = (total * weight) / sum
    const seen = counts.get(id) ?? 0
    if (expected < 8) {
      restSeen += seen
      restExpected += expected
      continue
    }
    statistic += (seen - expected) ** 2 / expected
    cells++
  }
  expect(cells).toBeGreaterThan(5)
  if (restExpected >= 8) {
    statistic += (restSeen - restExpected) ** 2 / restExpected
    cells++
  }
  const degrees = cells - 1
  return (statistic - degrees) / Math.sqrt(2 * degrees)
}
