// Measures what share of each network limit a graph uses. In: a sentence encoder with random weights, and
// the given files. Out: a table with shares of the default limits. Open axes are 1 x 64.
//
//   node lab/bench/graphs/margins.ts [FILE.onnx ...]
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { programFor } from '../../../src/network/compile/compiled-graph.ts'
import { NOTHING } from '../../../src/network/compile/stages.ts'
import { NETWORK_LIMITS, ProgramBudget } from '../../../src/network/onnx/graph-budget.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { bertBytes, MINILM } from './bert.ts'

const OPEN = [1, 64]

console.log('| graph | planning, % | steps, % | bytes, % |')
console.log('|---|--:|--:|--:|')
await show('MiniLM, random f32', bertBytes(MINILM))
for (const file of process.argv.slice(2)) await show(basename(file), new Uint8Array(await readFile(file)))

async function show(name: string, bytes: Uint8Array): Promise<void> {
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const shapes = new Map(
    graph.inputs.map((input) => [
      input.name,
      input.type!.dims!.map((size, axis) => (typeof size === 'number' ? size : OPEN[axis]!)),
    ]),
  )
  const budget = new ProgramBudget()
  const { steps, arenaBytes } = programFor(graph, shapes, 'f32', NOTHING, budget).program
  const taken = steps.reduce((sum, step) => sum + step.taken, 0)
  const { planning, steps: most, bytes: room } = NETWORK_LIMITS
  const shares = [budget.spentUnits / planning, taken / most, arenaBytes / room]
  console.log(`| ${[name, ...shares.map((share) => (100 * share).toFixed(1))].join(' | ')} |`)
}
