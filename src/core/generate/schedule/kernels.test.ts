// Tests the whole stack below the engine. In: a small random model, the built modules. Out: the same bits
// regardless of scheduling.
import { existsSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { nodeHost } from '../../../tools/cli/node-host.ts'
import { type Encoding, matrixBytes } from '../../abi/encodings.ts'
import { inverseFrequencies } from '../../arch/rope.ts'
import { graphBuilder, matrix, vector } from '../../graph/builder.ts'
import { compile } from '../../graph/compile-graph.ts'
import type { Graph } from '../../graph/nodes.ts'
import { blockBytes } from '../../graph/plan/layouts.ts'
import type { Plan, WeightSlot } from '../../graph/plan/plan.ts'
import type { Build } from '../../runtime/features.ts'
import type { Arena } from '../../runtime/memory/arena.ts'
import { KvShift } from '../../runtime/memory/kv-shift.ts'
import { openPool, openRuntime } from '../../runtime/open-runtime.ts'
import type { Pool } from '../../runtime/pool.ts'
import { writePlan } from '../../runtime/write-plan.ts'
import type { TablePosition } from '../../state/block-pool.ts'
import { StateCache } from '../../state/state-cache.ts'
import { packRows } from '../../weights/slabs.ts'
import { probeStep } from '../probe-step.ts'
import { Random } from '../sampler/random.ts'
import { InputRows } from './input-rows.ts'
import { Scheduler } from './scheduler.ts'
import { Sequence } from './sequence.ts'
import { StepBuffer } from './step-buffer.ts'

const isBuilt = existsSync(new URL('../../../../dist/wasm/halfbyte-simd128-shared.wasm', import.meta.url))

const HIDDEN = 64
const HEADS = 4
const KV_HEADS = 2
const HEAD_DIM = 16
const INNER = 96
const VOCAB = 160
const LAYERS = 2

/** A Llama-like model with two layers. */
function smallModel(): Graph {
  const g = graphBuilder()
  const norm = (name: string) => vector({ [name]: HIDDEN })
  const attention = { heads: HEADS, kvHeads: KV_HEADS, headDim: HEAD_DIM, window: 0 }
  let x = g.embed('embed', matrix(HIDDEN, { embed: VOCAB }))
  for (let layer = 0; layer < LAYERS; layer++) {
    const name = (part: string): string => `${layer}.${part}`
    const qkvWeight = matrix(HIDDEN, {
      [name('q')]: HEADS * HEAD_DIM,
      [name('k')]: KV_HEADS * HEAD_DIM,
      [name('v')]: KV_HEADS * HEAD_DIM,
    })
    const qkv = g.linear(name('qkv'), g.rmsnorm(name('norm'), x, norm(name('norm')), 1e-5), qkvWeight)
    const rope = { table: 0, dims: HEAD_DIM, pairing: 'halves' } as const
    const attended = g.attend(name('attention'), g.parts(qkv, qkvWeight), { ...attention, layer }, rope)
    x = g.add(
      name('sum'),
      x,
      g.linear(name('o'), attended, matrix(HEADS * HEAD_DIM, { [name('o')]: HIDDEN })),
    )
    const gateUp = matrix(HIDDEN, { [name('gate')]: INNER, [name('up')]: INNER })
    const inner = g.linear(name('gate_up'), g.rmsnorm(name('norm2'), x, norm(name('norm2')), 1e-5), gateUp)
    const active = g.swiglu(name('swiglu'), g.parts(inner, gateUp))
    x = g.add(name('sum2'), x, g.linear(name('down'), active, matrix(INNER, { [name('down')]: HIDDEN })))
  }
  const last = g.rmsnorm('norm', g.takeRows('last', x), norm('norm'), 1e-5)
  return g.finish(g.linear('output', last, matrix(HIDDEN, { output: VOCAB })), last)
}

/** A name always stands for the same numbers, whatever the plan, so that plans can be compared. */
function numbersOf(name: string, count: number, base: number, spread: number): Float32Array<ArrayBuffer> {
  const random = new Random([...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) >>> 0)
  return Float32Array.from({ length: count }, () => base + spread * random.next())
}

/** Row `id` of the embedding table in a model with f32 weights. */
function embeddingRow(id: number): Float32Array {
  const spread = 2 / Math.sqrt(HIDDEN)
  return numbersOf('embed', VOCAB * HIDDEN, -spread / 2, spread).subarray(id * HIDDEN, (id + 1) * HIDDEN)
}

function fillSlot(arena: Arena, at: number, slot: WeightSlot): void {
  const { k, kind, parts } = slot.ref
  let address = at
  for (const { name, n } of parts) {
    const spread = kind === 'vector' ? 1 : 2 / Math.sqrt(k)
    const values = numbersOf(name, n * k, kind === 'vector' ? 0.5 : -spread / 2, spread)
    const encoding = slot.encoding as Encoding
    const bytes = kind === 'vector' ? n * 4 : matrixBytes(encoding, n, k)
    const target = arena.u8.subarray(address, address + bytes)
    const source = new Uint8Array(values.buffer)
    if (kind === 'vector') target.set(source)
    else packRows({ dtype: 'F32', encoding, k, rows: n, source, target })
    address += bytes
  }
}

/** Time, height or width for each rotated pair. */
const AXES_OF_PAIRS = Uint8Array.of(0, 0, 1, 1, 1, 2, 2, 2)

interface Setup {
  build?: Build
  threads?: number
  encoding?: Encoding
  tokens?: number
  inputs?: InputRows
}

const pools: Pool[] = []
afterEach(() => {
  for (const pool of pools.splice(0)) pool.dispose()
})

/** In the same order as in the engine. */
async function engineOf({ build = 'relaxed', threads = 1, encoding = 'f32', tokens = 64, inputs }: Setup) {
  const host = nodeHost()
  const plan: Plan = compile(smallModel(), { tokens, logitRows: 8, encodingOf: () => encoding })
  const weightBytes = plan.slots.reduce((sum, { bytes }) => sum + bytes, 0)
  const runtime = await openRuntime({
    host,
    build,
    threads,
    needBytes: weightBytes + plan.arenaBytes,
    wantBytes: 64e6,
  })
  const { arena } = runtime
  const slots = plan.slots.map(({ bytes }) => arena.allocate(bytes, 'the weights'))
  for (const [index, slot] of plan.slots.entries()) fillSlot(arena, slots[index]!, slot)
  const written = writePlan(arena, plan, slots)
  const rope = inverseFrequencies({ theta: 10_000, dims: HEAD_DIM, pairing: 'halves' })
  const ropes = [{ frequencies: rope, magnitude: 1, axes: inputs?.isPlaced ? AXES_OF_PAIRS : undefined }]
  const capacity = { tokens, logitRows: 8, sequences: 8 }
  const step = new StepBuffer(arena, capacity, plan.stateGroups.length, ropes, inputs)
  let shift: KvShift | undefined
  const cache = new StateCache({
    arena,
    blockBytes: plan.stateGroups.map(blockBytes),
    contextLength: 300,
    move: (group, from, to, count) => {
      const kvPosition = ({ table, position }: TablePosition) => ({
        tables: plan.stateGroups.map(() => table),
        position,
      })
      shift?.move(kvPosition(from), kvPosition(to), count, group)
    },
  })
  const pool = await openPool(runtime, {
    host,
    threads,
    probe: (pool) => probeStep(pool, written, step, cache),
  })
  pools.push(pool)
  shift = new KvShift({ pool, arena, plan, slots, ropes: [rope] })
  const { now, yieldTask } = host
  const scheduler = new Scheduler({ pool, arena, plan, written, step, now, yieldTask })
  const sequenceOf = (ids: readonly number[], keep?: number, shares = false): Sequence => {
    const sequence = new Sequence(cache, { shares })
    sequence.setTokens(ids, { keep })
    return sequence
  }
  return { scheduler, cache, sequenceOf, pool }
}
type TestEngine = Awaited<ReturnType<typeof engineOf>>

const promptOf = (length: number, salt = 0): number[] =>
  Array.from({ length }, (_, index) => (index * index * 7 + salt * 11 + index) % VOCAB)

const argmax = (logits: Float32Array): number => logits.indexOf(Math.max(...logits))
const greedy = { sample: argmax }

async function allLogits(
  { scheduler, sequenceOf }: TestEngine,
  ids: readonly number[],
): Promise<Float32Array[]> {
  const rows: Float32Array[] = []
  const sequence = sequenceOf(ids)
  await scheduler.forward({ sequence, logits: 'all', onLogits: (_, row) => void rows.push(row.slice()) })
  sequence.release()
  return rows
}

async function textOf(
  { scheduler, sequenceOf }: TestEngine,
  prompt: readonly number[],
  count: number,
): Promise<number[]> {
  const sequence = sequenceOf(prompt)
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: count })
  const text = sequence.tokens.slice(prompt.length)
  sequence.release()
  return text
}

const ENCODINGS = ['f32', 'w8_g32', 'w4_g32'] as const

describe.skipIf(!isBuilt)('with the built modules', () => {
  test.each(ENCODINGS)(
    '%s: logits are finite, differ by position, and have the same bits for any chunk size and number of threads',
    async (encoding) => {
      const reference = await allLogits(await engineOf({ encoding }), promptOf(150))
      expect(reference.length).toBe(150)
      for (const row of reference) expect(row.every(Number.isFinite)).toBe(true)
      expect(reference[149]).not.toEqual(reference[148])
      for (const setup of [{ tokens: 1 }, { tokens: 7 }, { threads: 2 }, { threads: 3, tokens: 33 }]) {
        expect(await allLogits(await engineOf({ encoding, ...setup }), promptOf(150))).toEqual(reference)
      }
    },
  )

  test.each(ENCODINGS)('%s: both builds generate the same text', async (encoding) => {
    const text = await textOf(await engineOf({ encoding }), promptOf(20), 40)
    expect(new Set(text).size).toBeGreaterThan(3)
    expect(
      await textOf(await engineOf({ encoding, build: 'simd128', threads: 2 }), promptOf(20), 40),
    ).toEqual(text)
  })

  test('decoding token by token gives the same logits as a single pass', async () => {
    const engine = await engineOf({ encoding: 'w4_g32', threads: 2 })
    const text = await textOf(engine, promptOf(20), 100)
    const rows = await allLogits(engine, [...promptOf(20), ...text])
    expect(rows.slice(19, -1).map(argmax)).toEqual(text)
  })

  test('concurrent sequences, forks and second turns generate the same text as when run alone', async () => {
    const engine = await engineOf({ encoding: 'w8_g32', threads: 2 })
    const { scheduler, sequenceOf, cache } = engine
    const root = sequenceOf(promptOf(70))
    await scheduler.generate({ sequence: root, sampler: greedy, maxTokens: 10 })
    const fork = root.fork()
    const turn = [...root.tokens.slice(0, 75), 3, 1, 4]
    fork.setTokens(turn)
    const others = [1, 2, 3].map((salt) => sequenceOf(promptOf(40 * salt, salt)))
    const prompts = [turn, root.tokens.slice(), ...others.map(({ tokens }) => tokens.slice())]
    const sequences = [fork, root, ...others]
    await Promise.all(
      sequences.map((sequence) => scheduler.generate({ sequence, sampler: greedy, maxTokens: 30 })),
    )
    for (const [index, sequence] of sequences.entries()) {
      const prompt = prompts[index]!
      expect(sequence.tokens.slice(prompt.length)).toEqual(await textOf(engine, prompt, 30))
      sequence.release()
    }
    expect(cache.liveBytes).toBe(0)
  })

  test('rows in place of tokens are read as embeddings, once, with any chunk size and any number of threads', async () => {
    const prompt = promptOf(90)
    const reference = await allLogits(await engineOf({}), prompt)
    for (const setup of [{}, { tokens: 7 }, { threads: 2 }, { build: 'simd128', tokens: 33 }] as const) {
      const inputs = new InputRows(HIDDEN)
      const engine = await engineOf({ ...setup, inputs })
      const words = inputs.wordsOf('00c0ffee', 40)
      const rows = new Float32Array(40 * HIDDEN)
      for (let row = 0; row < 40; row++) rows.set(embeddingRow(prompt[30 + row]!), row * HIDDEN)
      const mixed = [...prompt.slice(0, 30), ...words, ...prompt.slice(70)]
      const absent = engine.sequenceOf(mixed)
      await expect(engine.scheduler.generate({ sequence: absent, sampler: greedy })).rejects.toThrow(
        /is missing/,
      )
      absent.release()
      inputs.hold('00c0ffee', rows)
      expect(await allLogits(engine, mixed)).toEqual(reference)
      const first = engine.sequenceOf(mixed, undefined, true)
      await engine.scheduler.generate({ sequence: first, sampler: greedy, maxTokens: 4 })
      inputs.release('00c0ffee')
      expect(inputs.has('00c0ffee')).toBe(false)
      // The state is found through the words, so the rows are not needed again.
      const second = engine.sequenceOf([...mixed, 5], undefined, true)
      expect(second.cached).toBe(90)
      await engine.scheduler.generate({ sequence: second, sampler: greedy, maxTokens: 4 })
      first.release()
      second.release()
    }
  })

  test('rows that attend to each other run in one step, whatever the chunk size, other work and number of threads', async () => {
    const rows = Float32Array.from({ length: 40 * HIDDEN }, (_, i) => Math.sin(i * i))
    const lastLogits = async (setup: Setup, isWhole = true, others = 0): Promise<Float32Array> => {
      const inputs = new InputRows(HIDDEN, isWhole)
      const { scheduler, sequenceOf } = await engineOf({ ...setup, inputs })
      const [first, second] = ['00c0ffee', '00c0ffff'].map((key) => {
        const words = inputs.wordsOf(key, 40)
        inputs.hold(key, rows)
        return words
      })
      const prompt = [...promptOf(30), ...first!, ...promptOf(9), ...second!, ...promptOf(20)]
      const sequence = sequenceOf(prompt)
      const chats = Array.from({ length: others }, (_, salt) =>
        scheduler.generate({ sequence: sequenceOf(promptOf(3, salt)), sampler: greedy, maxTokens: 30 }),
      )
      let last = new Float32Array()
      await scheduler.forward({
        sequence,
        onLogits: (_, logits) => {
          last = logits.slice()
        },
      })
      await Promise.all(chats)
      return last
    }
    const right = await lastLogits({})
    expect(right).not.toEqual(await lastLogits({}, false))
    for (const setup of [{ tokens: 40 }, { tokens: 45 }, { threads: 2 }, { build: 'simd128' }] as const)
      expect(await lastLogits(setup, true, 3)).toEqual(right)
  })

  test('images in grids are read identically with any chunk size, even one as large as an image', async () => {
    const rows = Float32Array.from({ length: 40 * HIDDEN }, (_, i) => Math.sin(i * i))
    const logits = async (setup: Setup, columns: readonly [number, number], start = 30) => {
      const inputs = new InputRows(HIDDEN, false, true)
      const engine = await engineOf({ ...setup, inputs })
      const [first, second] = ['00c0ffee', '00c0ffff'].map((key, index) => {
        const words = inputs.wordsOf(key, 40, columns[index])
        inputs.hold(key, rows)
        return words
      })
      return allLogits(engine, [...promptOf(start), ...first!, ...promptOf(9), ...second!, ...promptOf(20)])
    }
    const right = await logits({ tokens: 256 }, [8, 5])
    // An image with a different shape changes all rows from its second row on.
    const other = await logits({ tokens: 256 }, [8, 8])
    expect(other.slice(0, 80)).toEqual(right.slice(0, 80))
    expect(other[85]).not.toEqual(right[85])
    for (const tokens of [1, 7, 33, 40, 64]) expect(await logits({ tokens }, [8, 5])).toEqual(right)
    expect(await logits({ tokens: 7, threads: 2 }, [8, 5])).toEqual(right)
    // The first image is the second step.
    expect(await logits({ tokens: 40 }, [8, 5], 40)).toEqual(await logits({ tokens: 256 }, [8, 5], 40))
  })

  test('a model without input rows rejects row words', async () => {
    const engine = await engineOf({})
    const sequence = engine.sequenceOf([1, 2 ** 31])
    await expect(engine.scheduler.generate({ sequence, sampler: greedy })).rejects.toThrow(/2147483648/)
    sequence.release()
  })

  test('a shifted context continues indefinitely, with the same text on any number of threads', async () => {
    const write = async (setup: Setup): Promise<number[]> => {
      const { scheduler, sequenceOf, cache } = await engineOf({ encoding: 'w8_g32', ...setup })
      const sequence = sequenceOf(promptOf(100), 5)
      const twin = sequence.fork()
      const text: number[] = []
      await scheduler.generate({
        sequence,
        sampler: greedy,
        maxTokens: 500,
        onToken: (id) => void text.push(id),
      })
      expect(sequence.cached).toBeLessThanOrEqual(300)
      expect(sequence.tokens.slice(5)).toEqual(text.slice(5 - sequence.tokens.length))
      expect(sequence.tokens.slice(0, 5)).toEqual(promptOf(100).slice(0, 5))
      await scheduler.generate({ sequence: twin, sampler: greedy, maxTokens: 5 })
      expect(twin.tokens.slice(100)).toEqual(text.slice(0, 5))
      sequence.release()
      twin.release()
      expect(cache.liveBytes).toBe(0)
      return text
    }
    const text = await write({})
    expect(text.length).toBe(500)
    expect(await write({ threads: 2, build: 'simd128', tokens: 9 })).toEqual(text)
  })
})
