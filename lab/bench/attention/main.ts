// npm run bench:attention prints attention's share of a step by position, as tables.

import { cpus } from 'node:os'
import { Command } from 'commander'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { ropeTables } from '../../../src/core/arch/rope.ts'
import { StepBuffer } from '../../../src/core/generate/schedule/step-buffer.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import { planTotals } from '../../../src/core/graph/plan/cost.ts'
import { openRuntime } from '../../../src/core/runtime/open-runtime.ts'
import { SharedPool } from '../../../src/core/runtime/shared.ts'
import { writePlan } from '../../../src/core/runtime/write-plan.ts'
import { SequenceState } from '../../../src/core/state/sequence-state.ts'
import { StateCache } from '../../../src/core/state/state-cache.ts'
import { loadWeights } from '../../../src/engine/load/load-weights.ts'
import { memoryNeed } from '../../../src/engine/load/memory-need.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { fillState } from '../../../src/tools/shrink/costs/timed-plan.ts'
import { modelFile } from '../model-file.ts'
import { QWEN_05B } from '../shapes.ts'
import { spread } from '../spread.ts'

const numbers = (text: string) => text.split(',').map(Number)
const flags = new Command('attention')
  .description("Attention's share of the time of a layer, by position.")
  .option(
    '--positions <list>',
    'positions before a decode step',
    numbers,
    [10, 60, 64, 120, 300, 512, 2048, 4096, 8192],
  )
  .option('--prefill <list>', 'rows of a prompt', numbers, [9, 18, 128, 256])
  .option('--threads <list>', 'thread counts', numbers, [1, 2])
  .option('--samples <n>', 'samples per figure', Number, 5)
  .option('--kv <format>', 'f32, int8 or both', 'both')
  .parse()
  .opts<{
    positions: number[]
    prefill: number[]
    threads: number[]
    samples: number
    kv: string
  }>()

const FORMATS: readonly KvFormat[] = [
  { k: 'f32', v: 'f32' },
  { k: 'int8', v: 'int8' },
]
const files = await openModelFiles((await modelFile(QWEN_05B)).pathname, { onProgress: () => {} })
const file = await openModel(files.sources)
console.log(`${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${file.name}`)
for (const kvCache of FORMATS) {
  if (flags.kv === 'both' || flags.kv === kvCache.k) await measure(kvCache)
}
await files.close()

async function measure(kvCache: KvFormat): Promise<void> {
  const contextLength = Math.max(...flags.positions, ...flags.prefill) + 64
  const host = nodeHost()
  const prepared = await prepareModel(file, { weights: 'auto', contextLength, beyondTraining: true, kvCache })
  const most = Math.max(...flags.threads)
  const runtime = await openRuntime({ host, threads: Math.max(2, most), ...memoryNeed(prepared) })
  const { arena, engine, module } = runtime
  const { plan } = prepared
  const written = writePlan(arena, plan, await loadWeights(arena, prepared))
  const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences: 1 }
  const step = new StepBuffer(
    arena,
    capacity,
    plan.stateGroups.length,
    ropeTables(prepared.config, contextLength),
  )
  const { blockBytes } = planTotals(plan)
  const cache = new StateCache({ arena, blockBytes, contextLength })
  const layers = prepared.config.layers
  const startWorker = host.startWorker!.bind(host)
  const pool = new SharedPool({ engine, module, arena, startWorker })
  const isAttention = plan.ops.map(({ name }) => name === 'rope_kv' || name === 'attention')
  const now = () => host.now()
  for (const threads of flags.threads) {
    await pool.resize(threads)
    console.log(`\nK ${kvCache.k}, V ${kvCache.v}, ${runtime.build}, ${threads} threads\n`)
    console.log('| phase | before | rows | layer ms | attention ms | share of layers | share of step |')
    console.log('|---|--:|--:|--:|--:|--:|--:|')
    for (const rows of flags.prefill) report('prefill', 0, rows)
    for (const position of flags.positions) report('decode', position, 1)
  }
  pool.dispose()

  function lay(state: SequenceState, rows: number): void {
    step.begin()
    step.addSequence(state)
    for (let row = 0; row < rows; row++) step.addToken(100 + row, row === rows - 1)
    step.finish()
  }
  /**
   * Times the ops of the layers one by one, in the step's order, so that the caches are in the same state as
   * in a real step.
   */
  function report(phase: string, position: number, rows: number): void {
    const state = new SequenceState(cache)
    state.reserve(position)
    state.advance(position)
    state.reserve(rows)
    fillState(arena, state, blockBytes, position + rows)
    lay(state, rows)
    const samples = { layer: [] as number[], attention: [] as number[], step: [] as number[] }
    for (let sample = -1; sample < flags.samples; sample++) {
      const sums = [0, 0]
      let last = now()
      for (let op = 1; op < written.count - 2; op++) {
        pool.run(written.records, step.step, op, op + 1)
        const next = now()
        sums[isAttention[op] === true ? 1 : 0]! += next - last
        last = next
      }
      const start = now()
      pool.run(written.records, step.step, 0, written.count)
      if (sample < 0) continue
      samples.step.push(now() - start)
      samples.attention.push(sums[1]! / layers)
      samples.layer.push((sums[0]! + sums[1]!) / layers)
    }
    state.release()
    const [layer, attention, whole] = [samples.layer, samples.attention, samples.step].map(
      (each) => spread(each).median,
    )
    const shares = [attention! / layer!, (attention! * layers) / whole!].map(
      (share) => `${(share * 100).toFixed(1)} %`,
    )
    console.log(
      `| ${phase} | ${position} | ${rows} | ${layer!.toFixed(3)} | ${attention!.toFixed(3)} | ${shares.join(' | ')} |`,
    )
  }
}
