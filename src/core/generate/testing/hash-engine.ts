// Hash engine. In: sizes. Out: a scheduler over a hash model, with a clock that only its steps advance.
import { isHalfbyteError } from '../../base/errors.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { Arena, type Ptr } from '../../runtime/memory/arena.ts'
import { StateCache } from '../../state/state-cache.ts'
import { Scheduler } from '../schedule/scheduler.ts'
import { Sequence } from '../schedule/sequence.ts'
import { StepBuffer } from '../schedule/step-buffer.ts'
import { HashPool, hashLogits } from './hash-pool.ts'

export const VOCAB = 50
export const GROUPS = 2
const BLOCK_BYTES = [256, 320]

export interface Sizes {
  tokens?: number
  logitRows?: number
  sequences?: number
  contextLength?: number
  budgetBytes?: number
  /** Number of recurrent groups, and bytes for their checkpoints. */
  slabs?: number
  checkpointBytes?: number
  msPerRow?: number
  msPerStep?: number
  retune?: () => Promise<boolean>
}

export function engineOf(sizes: Sizes = {}) {
  const {
    tokens = 64,
    logitRows = 8,
    sequences = 8,
    contextLength = 500,
    slabs = 0,
    msPerRow = 0.1,
    msPerStep = 0,
  } = sizes
  const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 64)
  const activations = arena.allocate(logitRows * 256, 'the activations')
  const plan: Plan = {
    ops: [],
    slots: [],
    stateGroups: [],
    exchanges: [],
    slabBytes: 0,
    pools: [],
    arenaBytes: logitRows * 256,
    tokens,
    logitRows,
    logits: { arena: 0, stride: 256, width: VOCAB },
    hidden: { arena: 0, stride: 256, width: VOCAB, ops: 0 },
  }
  const step = new StepBuffer(arena, { tokens, logitRows, sequences }, GROUPS + slabs, [])
  const cache = new StateCache({
    arena,
    blockBytes: BLOCK_BYTES,
    slabBytes: Array.from({ length: slabs }, () => 64),
    contextLength,
    budgetBytes: sizes.budgetBytes,
    checkpointBytes: sizes.checkpointBytes,
  })
  const pool = new HashPool(arena, { address: activations, stride: 256, vocab: VOCAB }, GROUPS, slabs)
  const clock = { ms: 0 }
  pool.onRun = (rows) => {
    clock.ms += msPerStep + rows * msPerRow
  }
  const scheduler = new Scheduler({
    pool,
    arena,
    plan,
    written: { records: 0 as Ptr, count: 0, activations },
    step,
    now: () => clock.ms,
    retune: sizes.retune,
    yieldTask: () => new Promise((resolve) => setImmediate(resolve)),
  })
  const sequenceOf = (ids: readonly number[]): Sequence => {
    const sequence = new Sequence(cache)
    sequence.setTokens(ids)
    return sequence
  }
  return { scheduler, arena, plan, step, cache, pool, clock, sequenceOf, activations }
}

export const argmax = (logits: ArrayLike<number>): number => {
  let best = 0
  for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[best]!) best = id
  return best
}
export const greedy = { sample: argmax }

/** The result of greedy decoding, computed from the tokens alone. */
export function expected(prompt: readonly number[], count: number, slabs = 0): number[] {
  const tokens = [...prompt]
  for (let index = 0; index < count; index++) tokens.push(argmax(hashLogits(tokens, GROUPS, VOCAB, slabs)))
  return tokens.slice(prompt.length)
}

export const promptOf = (length: number, salt = 0): number[] =>
  Array.from({ length }, (_, index) => (index * 7 + salt * 11) % VOCAB)

export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error) => (isHalfbyteError(error) ? error.code : String(error)),
  )
