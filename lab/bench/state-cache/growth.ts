// Times steps while the state grows, stored in blocks or in one region that is reallocated.

import { openModel } from '../../../src/core/arch/open-model.ts'
import { ropeTables } from '../../../src/core/arch/rope.ts'
import { StepBuffer } from '../../../src/core/generate/schedule/step-buffer.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import { planTotals } from '../../../src/core/graph/plan/cost.ts'
import { openPool, openRuntime } from '../../../src/core/runtime/open-runtime.ts'
import { writePlan } from '../../../src/core/runtime/write-plan.ts'
import { SequenceState } from '../../../src/core/state/sequence-state.ts'
import { StateCache } from '../../../src/core/state/state-cache.ts'
import { loadWeights } from '../../../src/engine/load/load-weights.ts'
import { memoryNeed } from '../../../src/engine/load/memory-need.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { spread } from '../spread.ts'
import { ContiguousState } from './contiguous.ts'
import type { Options } from './main.ts'

type State = SequenceState | ContiguousState

/** Milliseconds; for a layer, the mean over all layers. Attention's time includes growing the cache. */
interface Sample {
  readonly step: number
  readonly layer: number
  readonly attention: number
}

/** Prompt lengths in the paper's tables. */
const PREFILL = [9, 18]
const KINDS = ['blocks', 'reallocation'] as const

export async function growth(model: URL, kvCache: KvFormat, options: Options): Promise<void> {
  const { from, grow, repeats, threads, positions } = options
  const contextLength = from + grow + Math.max(...PREFILL)
  const host = nodeHost()
  const files = await openModelFiles(model.pathname)
  const file = await openModel(files.sources)
  const prepared = await prepareModel(file, { weights: 'auto', contextLength, beyondTraining: true, kvCache })
  const { plan, config } = prepared
  const { blockBytes } = planTotals(plan)
  const { needBytes } = memoryNeed(prepared)
  const block = blockBytes.reduce((sum, bytes) => sum + bytes, 0)
  const blocks = Math.ceil(contextLength / 64)
  // Every reallocation maps a new region, as allocators do.
  const regions = (repeats + 1) * (Math.ceil(grow / 64) + 3) * (blocks + 1) * block
  const wantBytes = Math.min(needBytes + regions, 4e9)
  const runtime = await openRuntime({ host, threads, needBytes, wantBytes })
  const { arena } = runtime
  const written = writePlan(arena, plan, await loadWeights(arena, prepared))
  await files.close()
  const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences: 1 }
  const ropes = ropeTables(config, contextLength)
  const step = new StepBuffer(arena, capacity, plan.stateGroups.length, ropes)
  const pool = await openPool(runtime, { host, threads, probe: () => 1, onDeath: () => undefined })
  const isAttention = plan.ops.map(({ name }) => name === 'rope_kv' || name === 'attention')
  const make: Record<(typeof KINDS)[number], () => State> = {
    blocks: () => new SequenceState(new StateCache({ arena, blockBytes, contextLength })),
    reallocation: () => new ContiguousState(arena, blockBytes, contextLength),
  }
  const prefill = new Map(PREFILL.map((rows) => [rows, [] as Sample[]]))
  const decode = KINDS.map(() => Array.from({ length: grow }, () => [] as Sample[]))
  for (let repeat = -1; repeat < repeats; repeat++) {
    for (const rows of PREFILL) {
      const sample = run(make.blocks(), rows)
      if (repeat >= 0) prefill.get(rows)?.push(sample)
    }
    const states = KINDS.map((kind) => begin(make[kind](), repeat < 0 ? 0 : from))
    for (let index = 0; index < (repeat < 0 ? 70 : grow); index++) {
      // Interleaves the two, so that other work on the machine affects both.
      for (const [kind, state] of states.entries()) {
        const sample = run(state, 1)
        if (repeat >= 0) decode[kind]?.[index]?.push(sample)
      }
    }
  }
  pool.dispose()
  print()

  /**
   * Fills existing positions with numbers near 0.01, because memory that was never written maps to a single
   * page of zeros.
   */
  function begin(state: State, length: number): State {
    if (length === 0) return state
    state.reserve(length)
    state.advance(length)
    for (const [group, bytes] of blockBytes.entries()) {
      for (let index = 0; index < Math.ceil(length / 64); index++) {
        const address = arena.u32[state.table(group) / 4 + index] ?? 0
        arena.u8.fill(0x3c, address, address + bytes)
      }
    }
    return state
  }

  function run(state: State, rows: number): Sample {
    const sums = { attention: 0, rest: 0 }
    let last = host.now()
    const start = last
    state.reserve(rows)
    step.begin()
    step.addSequence(state as SequenceState)
    for (let row = 0; row < rows; row++) step.addToken(100 + row, row === rows - 1)
    step.finish()
    sums.attention = host.now() - start
    last = host.now()
    for (let op = 0; op < written.count; op++) {
      pool.run(written.records, step.step, op, op + 1)
      const now = host.now()
      const isLayer = op > 0 && op < written.count - 2
      if (isLayer) sums[isAttention[op] === true ? 'attention' : 'rest'] += now - last
      last = now
    }
    state.advance(rows)
    const { layers } = config
    const layer = (sums.attention + sums.rest) / layers
    return { step: last - start, layer, attention: sums.attention / layers }
  }

  function print(): void {
    const of = (samples: readonly Sample[], what: keyof Sample) =>
      spread(samples.map((sample) => sample[what])).median
    const cells = (samples: readonly Sample[]) => {
      const layer = of(samples, 'layer')
      const attention = of(samples, 'attention')
      return `${layer.toFixed(3)} | ${attention.toFixed(3)} | ${((attention / layer) * 100).toFixed(1)} %`
    }
    console.log(
      '| phase | before | rows | layer ms | attention ms | share | reallocating: layer ms | attention ms | share |',
    )
    console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|')
    for (const [rows, samples] of prefill) console.log(`| prefill | 0 | ${rows} | ${cells(samples)} | | | |`)
    for (const position of positions.filter((at) => at >= from && at < from + grow)) {
      const both = decode.map((kind) => cells(kind[position - from] ?? []))
      console.log(`| decode | ${position} | 1 | ${both.join(' | ')} |`)
    }
    console.log('')
    for (const [index, kind] of KINDS.entries()) {
      const medians = decode[index]!.map((samples) => of(samples, 'step'))
      const { median } = spread(medians)
      const worst = Math.max(...medians)
      const at = from + medians.indexOf(worst)
      console.log(
        `${kind}, ${from} to ${from + grow}: median step ${median.toFixed(2)} ms, worst ${worst.toFixed(2)} ms at ${at}, ` +
          `${(worst / median).toFixed(2)} times the median`,
      )
    }
    console.log('')
  }
}
