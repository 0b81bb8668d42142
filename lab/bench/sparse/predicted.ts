// node lab/bench/sparse/predicted.ts DENSE PRUNED... compares the tokens per second predicted for packs, from
// costs measured in this run, with those of their actual steps. The packs are from one model, with matrices
// in sb84, sv32 or dense.
import { cpus, loadavg } from 'node:os'
import { Command } from 'commander'
import { isSparse, sparseParts } from '../../../src/core/abi/encodings.ts'
import { weightOf } from '../../../src/core/arch/tensors/names.ts'
import { COST_FORMATS, type Costs, measuredCosts } from '../../../src/core/weights/sparse/cost-table.ts'
import type { PreparedModel } from '../../../src/engine/load/prepare.ts'
import { withPrepared } from '../../../src/tools/cli/models/model.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { readMatrix } from '../../../src/tools/shrink/calibrate/gram.ts'
import { isProduct, measureCosts } from '../../../src/tools/shrink/costs/measure-costs.ts'
import { openTimedPlan } from '../../../src/tools/shrink/costs/timed-plan.ts'

const command = new Command('predicted')
  .argument('<packs...>', 'files; the first is the dense one')
  .option('--weights <format>', 'w8 or w4', 'w4')
  .option('--threads <n>', 'threads', Number, 1)
  .option('--position <n>', 'positions before the token that is timed', Number, 128)
  .option('--samples <n>', 'samples per pack and variant', Number, 40)
  .option('--rounds <n>', 'how often to time all packs in turn', Number, 5)
  .parse()
const options = command.opts<{
  weights: 'w4' | 'w8'
  threads: number
  position: number
  samples: number
  rounds: number
}>()
const { weights, threads, position, samples } = options
const { signal } = new AbortController()
const host = nodeHost()
const format = `${weights}_g32` as const
const UNITS = { sb84: [8, 4], sv32: [32, 1] } as const
const low = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 10)]!

/** The share of units with a nonzero weight. */
function keptShare(
  values: Float32Array,
  n: number,
  k: number,
  [rows, inputs]: readonly [number, number],
): number {
  const width = Math.ceil(k / inputs)
  const kept = new Uint8Array(Math.ceil(n / rows) * width)
  for (let at = 0; at < values.length; at++) {
    if (values[at] !== 0)
      kept[Math.floor(Math.floor(at / k) / rows) * width + Math.floor((at % k) / inputs)] = 1
  }
  return kept.reduce((sum, each) => sum + each, 0) / kept.length
}

async function predictedMs({ plan, weights: tensors }: PreparedModel, costs: Costs): Promise<number> {
  let ms = costs.restMs ?? Number.NaN
  for (const { ref, encoding } of plan.slots.filter(isProduct)) {
    const n = ref.parts.reduce((sum, part) => sum + part.n, 0)
    const sparse = isSparse(encoding)
      ? COST_FORMATS.find((name) => name === sparseParts(encoding).format)
      : undefined
    let kept = 0
    for (const { name, n: rows } of sparse === undefined ? [] : ref.parts) {
      const values = await readMatrix(weightOf(tensors, name), signal)
      kept += (rows / n) * keptShare(values, rows, ref.k, UNITS[sparse!])
    }
    ms += costs.timeOf(n, ref.k, sparse, kept)
  }
  return ms
}

const prepare = <T>(pack: string, use: (prepared: PreparedModel) => Promise<T>) =>
  withPrepared(pack, { weights: 'auto' }, signal, use)
const table = await prepare(command.args[0]!, (prepared) =>
  measureCosts(prepared, {
    host,
    signal,
    format,
    threads,
    position,
    samples,
    build: 'auto',
    machine: 'this',
  }),
)
const costs = measuredCosts(table)
const packs = []
for (const name of command.args) {
  packs.push(
    await prepare(name, async (prepared) => {
      const timed = await openTimedPlan(prepared, { host, build: 'auto', threads })
      await timed.resize(Math.min(threads, timed.maxThreads))
      const step = timed.repeat({ tokens: 1, logitRows: 1, position })
      return { name, timed, step, predicted: await predictedMs(prepared, costs), ms: [] as number[] }
    }),
  )
}
const calls = packs[0]!.step.callsFor(2)
for (let sample = 0; sample < options.rounds * samples; sample++) {
  for (const { step, ms } of packs) ms.push(step.steps(calls))
}
console.log(`${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}\n`)
console.log('| | predicted, tokens/s | measured, tokens/s | ratio |\n|---|--:|--:|--:|')
for (const { name, timed, step, predicted, ms } of packs) {
  const expected = 1000 / predicted
  const found = 1000 / low(ms)
  console.log(
    `| ${name.split('/').at(-1)} | ${expected.toFixed(1)} | ${found.toFixed(1)} | ${(expected / found).toFixed(3)} |`,
  )
  step.release()
  timed.dispose()
}
process.exit()
