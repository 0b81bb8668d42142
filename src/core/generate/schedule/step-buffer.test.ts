// Tests the step buffer and the chunk size. In: sequences and tokens. Out: the words defined in
// wasm/core/abi.h, and sizes that converge.
import { expect, test } from 'vitest'
import { SEQUENCE, SEQUENCE_WORDS, STEP } from '../../abi/constants.ts'
import { Arena } from '../../runtime/memory/arena.ts'
import { SequenceState } from '../../state/sequence-state.ts'
import { StateCache } from '../../state/state-cache.ts'
import { StepBuffer } from './step-buffer.ts'
import { CHUNK_MS, ChunkSize } from './step-cost.ts'

const CAPACITY = { tokens: 8, logitRows: 3, sequences: 2 }

function setUp() {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 64)
  const frequencies = [Float64Array.of(1, 0.1), Float64Array.of(0.5)]
  const ropes = frequencies.map((each) => ({ frequencies: each, magnitude: 1 }))
  const step = new StepBuffer(arena, CAPACITY, 2, ropes)
  const cache = new StateCache({ arena, blockBytes: [256, 256], contextLength: 100 })
  const first = new SequenceState(cache)
  first.reserve(70)
  first.advance(68)
  const second = new SequenceState(cache)
  second.reserve(1)
  const field = (index: number): number => arena.u32[step.step / 4 + index] ?? 0
  const list = (index: number, length: number): number[] => [
    ...arena.u32.subarray(field(index) / 4, field(index) / 4 + length),
  ]
  const floats = (address: number, length: number): number[] => [
    ...arena.f32.subarray(address / 4, address / 4 + length),
  ]
  return { arena, step, first, second, field, list, floats }
}

test('a step of two sequences has the rows, positions, tables and requested logits of both', () => {
  const { step, first, second, field, list } = setUp()
  step.begin()
  step.addSequence(first)
  expect([step.addToken(11, false), step.addToken(12, true)]).toEqual([undefined, 0])
  step.addSequence(second, true)
  expect(step.addToken(13, true)).toBe(1)
  step.finish()
  expect([field(STEP.tokens), field(STEP.sequences), field(STEP.logit_count)]).toEqual([3, 2, 2])
  expect(list(STEP.ids, 3)).toEqual([11, 12, 13])
  expect(list(STEP.sequence_of, 3)).toEqual([0, 0, 1])
  expect(list(STEP.positions, 3)).toEqual([68, 69, 0])
  expect(list(STEP.logit_rows, 2)).toEqual([1, 2])
  const sequences = list(STEP.seqs, 2 * SEQUENCE_WORDS)
  expect(sequences.slice(0, SEQUENCE.tables)).toEqual([0, 2, 68, 0])
  expect(sequences.slice(SEQUENCE.tables, SEQUENCE_WORDS)).toEqual([first.table(0), first.table(1), 0, 0])
  expect(sequences.slice(SEQUENCE_WORDS, SEQUENCE_WORDS + SEQUENCE.tables)).toEqual([2, 1, 0, 1])
})

test('rotation tables hold the cosine and sine of every row, even after memory growth', () => {
  const { arena, step, first, second, field, floats } = setUp()
  for (const growth of [0, 1e6]) {
    arena.allocate(growth, 'more')
    step.begin()
    step.addSequence(first)
    step.addToken(1, false)
    step.addSequence(second)
    step.addToken(1, true)
    step.finish()
    const angles = [68, 6.8, 0, 0].flatMap((angle) => [Math.cos(angle), Math.sin(angle)])
    expect(floats(field(STEP.ropes), 8)).toEqual([...Float32Array.from(angles)])
    expect(floats(field(STEP.ropes + 1), 4)).toEqual([...Float32Array.of(Math.cos(34), Math.sin(34), 1, 0)])
  }
  expect([field(STEP.ropes + 2), field(STEP.ropes + 3)]).toEqual([0, 0])
})

test('starting a new step discards the previous one', () => {
  const { step, first, field } = setUp()
  step.begin()
  step.addSequence(first)
  for (let token = 0; token < 3; token++) step.addToken(token, true)
  step.finish()
  step.begin()
  step.finish()
  expect([field(STEP.tokens), field(STEP.sequences), field(STEP.logit_count)]).toEqual([0, 0, 0])
})

test('more logits than the plan has rows for are rejected', () => {
  const { step, first } = setUp()
  step.begin()
  step.addSequence(first)
  for (let token = 0; token < 4; token++) step.addToken(token, true)
  expect(() => step.finish()).toThrow(/does not fit 8, 3 and 2/)
})

test.each([0.01, 0.5, 2, 9, 40])(
  'at %d ms per row, steps converge to slightly below the limit',
  (msPerRow) => {
    const chunk = new ChunkSize(512)
    for (let step = 0; step < 10; step++) chunk.observe(chunk.rows, chunk.rows * msPerRow)
    expect(chunk.rows).toBeGreaterThanOrEqual(8)
    if (msPerRow < 10) expect(chunk.rows * msPerRow).toBeLessThanOrEqual(CHUNK_MS)
    expect(chunk.rows === 512 || chunk.rows + 8 > (0.8 * CHUNK_MS) / msPerRow).toBe(true)
  },
)

test.each([
  [4.5, 16],
  [7, 16],
  [10, 16],
  [12, 8],
  [40, 8],
])('at %d ms per row and 10 ms of exchanges, sharded steps have at least %d rows', (msPerRow, rows) => {
  const chunk = new ChunkSize(512, true)
  for (let step = 0; step < 10; step++) chunk.observe(chunk.rows, 10 + chunk.rows * msPerRow)
  expect(chunk.rows).toBe(rows)
  if (rows > 8) expect(10 + chunk.rows * msPerRow).toBeLessThanOrEqual(2 * CHUNK_MS)
})

test('one slow step does not keep the chunks small, and decode steps are ignored', () => {
  const chunk = new ChunkSize(512)
  chunk.observe(32, 5000)
  expect(chunk.rows).toBe(8)
  chunk.observe(1, 5000)
  for (let step = 0; step < 4; step++) chunk.observe(chunk.rows, chunk.rows * 0.5)
  expect(chunk.rows).toBeGreaterThan(128)
})
