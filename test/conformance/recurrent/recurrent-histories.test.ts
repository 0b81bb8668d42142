// Random histories of recurrent sequences on the real kernels. In: extend, edit, fork, save and restore in
// any order. Out: whether logits equal those of a run from the start, with no token processed twice.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import type { Sequence } from '../../../src/core/generate/schedule/sequence.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import { withBuilt } from '../testing/node-engine.ts'
import { type RecurrentFamily, randomRecurrent, recurrentGguf } from '../testing/random-recurrent.ts'

const FAMILIES: readonly RecurrentFamily[] = ['mamba', 'mamba2', 'granitehybrid']
const LIMITS = { numRuns: 40, interruptAfterTimeLimit: 20_000 }

const which = fc.nat(5)
const tokens = fc.array(fc.nat(250), { minLength: 1, maxLength: 90 })
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('extend' as const), which, tokens }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('edit' as const), which, tokens, kept: fc.nat(100) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('fork' as const), which }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restore' as const), which }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('release' as const), which }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

/** Processes the missing tokens and returns the last row. */
async function lastRow(built: BuiltModel, sequence: Sequence): Promise<Float32Array> {
  let last = new Float32Array(0)
  const onLogits = (_: number, row: Float32Array) => {
    last = row.slice()
  }
  await built.scheduler.forward({ sequence, onLogits })
  return last
}

/** The logits of the tokens in a new sequence. */
async function fromNothing(built: BuiltModel, ids: readonly number[]): Promise<Float32Array> {
  const sequence = built.newSequence()
  sequence.setTokens(ids)
  const row = await lastRow(built, sequence)
  sequence.release()
  return row
}

async function perform(built: BuiltModel, sequences: Sequence[], act: Action): Promise<void> {
  const index = act.which % Math.max(1, sequences.length)
  const sequence = sequences[index]
  if (sequence === undefined || act.type === 'extend' || act.type === 'edit') {
    const target = sequence ?? built.newSequence({ shares: true })
    if (sequence === undefined) sequences.push(target)
    const own = [...target.tokens]
    const kept = act.type === 'edit' ? Math.floor((act.kept / 100) * own.length) : own.length
    const ids = [...own.slice(0, kept), ...('tokens' in act ? act.tokens : [1])]
    const cached = target.setTokens(ids)
    // Marks the end of a message. Later tokens can be removed without processing it again.
    target.state.markAt([kept])
    expect(cached).toBeLessThan(ids.length)
    if (act.type === 'extend') expect(cached).toBe(kept)
    expect(await lastRow(built, target)).toEqual(await fromNothing(built, ids))
    target.state.checkpoint()
  } else if (act.type === 'fork') {
    const copy = sequence.fork()
    expect(copy.cached).toBe(sequence.cached)
    sequences.push(copy)
  } else if (act.type === 'restore') {
    const chunks: Uint8Array[] = []
    for await (const chunk of sequence.save('model', null)) chunks.push(chunk)
    const source = bufferSource('saved', new Uint8Array(Buffer.concat(chunks)))
    const { sequence: restored } = await built.restoreSequence(source, 'model')
    expect(restored.cached).toBe(sequence.cached)
    sequences.push(restored)
  } else {
    sequence.release()
    sequences.splice(index, 1)
  }
}

const POOLS = [
  { pool: 'single', threads: 1 },
  { pool: 'shards', threads: 2 },
  { pool: 'shards', threads: 3 },
] as const
const CASES = FAMILIES.flatMap((family) => POOLS.map((options) => ({ family, ...options })))

describe.each(CASES)('$family, $pool of $threads', ({ family, ...options }) => {
  test('gives the logits of a full run, and continues from its state', async () => {
    await withBuilt([await recurrentGguf(randomRecurrent(family, 3))], options, async (built) => {
      expect(built.info).toMatchObject(options)
      const history = fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 12 }), async (actions) => {
        const sequences: Sequence[] = []
        try {
          for (const act of actions) await perform(built, sequences, act)
        } finally {
          for (const sequence of sequences) sequence.release()
        }
      })
      await fc.assert(history, LIMITS)
    })
  })
})
