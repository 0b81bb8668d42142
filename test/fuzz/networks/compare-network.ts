// Compiled graphs. In: the bytes of an ONNX file. Out: whether the graph gives the evaluator's results when
// it is compiled in both builds, or compiled in part with onnxruntime-web running the rest.
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { CompiledGraph } from '../../../src/network/compile/compiled-graph.ts'
import { constantTensor } from '../../../src/network/compile/run/constant-tensor.ts'
import { StagedGraph } from '../../../src/network/compile/staged/staged-graph.ts'
import { roundingSpread } from '../../../src/network/compile/testing/conditioning.ts'
import { ProgramBudget } from '../../../src/network/onnx/graph-budget.ts'
import type { Graph } from '../../../src/network/onnx/ir/graph.ts'
import { countOf, isFloat, type Tensor, tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { evaluate } from '../../conformance/onnx/verify/evaluate.ts'
import { Random } from '../../helpers/random.ts'

/** The size of every free axis. */
const FREE_SIZE = 3
/** Graphs with larger inputs are skipped, because they would crash the process. */
const MAX_ELEMENTS = 1 << 18
const LIMITS = { planning: 2 ** 24, steps: 2 ** 31, bytes: 2 ** 26 }
/** Largest difference relative to an output's magnitude: compiled graphs sum in f32, the evaluator in f64. */
const TOLERANCE = 5e-3
/** The difference may be this many times the effect of other roundings. */
const ROUNDINGS = 8
/** Larger numbers result from sums whose order matters. */
const MAX_VALUE = 1e3
/**
 * Discontinuous operators: if their inputs are sums in different orders, their outputs may differ by any
 * amount.
 */
const JUMPS =
  /^(?:Floor|Ceil|Round|Sign|Less|LessOrEqual|Greater|GreaterOrEqual|Equal|ArgMax|ArgMin|Cast|CastLike|Mod|TopK|NonZero|IsNaN|IsInf|Div|Reciprocal|Log|Pow|Sqrt|Tan|HardSwish|Hardmax|QuantizeLinear)$/

/** Throws a typed error if the file is rejected, and an `Error` called `WrongOutputs` if they differ. */
export async function compileAndCompare(bytes: Uint8Array, change: string): Promise<string> {
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const feeds = feedsOf(graph)
  if (feeds === undefined) return 'inputs too large'
  const outputs: ReadonlyMap<string, Tensor>[] = []
  for (const fuse of [false, true]) {
    const compiled = new CompiledGraph(graph, { fuse, limits: LIMITS })
    outputs.push(await compiled.run(feeds))
  }
  const wanted = evaluated(await inMemory(graph), feeds)
  if (wanted === undefined) return 'run, not computed'
  if (graph.nodes.some(({ op }) => JUMPS.test(op))) return 'run, jumps'
  for (const found of outputs) {
    const word = judge(wanted, found, change)
    if (word !== 'compared') return word
  }
  return 'compared'
}

/** Shapes by input name, for inputs whose axes should not have FREE_SIZE. */
export type Sizes = Readonly<Record<string, readonly number[]>>

/** The description of an unchanged graph. */
export const UNCHANGED = 'nothing'

/**
 * The same with `fallback: 'ort'`, in one build. In unchanged graphs, discontinuous operators read only
 * inputs.
 */
export async function mixAndCompare(bytes: Uint8Array, change: string, sizes: Sizes): Promise<string> {
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const feeds = feedsOf(graph, sizes)
  if (feeds === undefined) return 'inputs too large'
  const whole = await inMemory(graph)
  const wanted = evaluated(whole, feeds)
  if (wanted === undefined) return 'not computed'
  const mixed = await StagedGraph.open(graph, { fuse: true, limits: LIMITS })
  try {
    const found = await mixed.run(feeds)
    // The second run reuses stages and sessions.
    const again = await mixed.run(feeds)
    for (const [name, { data }] of found)
      if (`${again.get(name)?.data}` !== `${data}`) throw wrong(`${name} differs in the second run`, change)
    if (change !== UNCHANGED && graph.nodes.some(({ op }) => JUMPS.test(op))) return 'run, jumps'
    const word = judge(wanted, found, change, () => roundingSpread(whole, feeds))
    return mixed.foreign.length === 0 && word === 'compared' ? 'compared, all compiled' : word
  } finally {
    await mixed.dispose()
  }
}

function feedsOf({ inputs, constants }: Graph, sizes: Sizes = {}): ReadonlyMap<string, Tensor> | undefined {
  const random = new Random(1)
  const feeds = new Map<string, Tensor>()
  for (const { name, type } of inputs) {
    if (type?.dims === undefined || constants.has(name)) continue
    const dims = sizes[name] ?? type.dims.map((size) => (typeof size === 'number' ? size : FREE_SIZE))
    const count = countOf(dims)
    if (!(count <= MAX_ELEMENTS)) return undefined
    const value = () => (isFloat(type.dtype) ? random.signed() : random.below(2))
    feeds.set(name, tensorOf(type.dtype, dims, Float64Array.from({ length: count }, value)))
  }
  return feeds
}

/** With the constants stored in the file. */
async function inMemory(graph: Graph): Promise<Graph> {
  const loaded = [...graph.constants].map(
    async ([name, constant]) => [name, await constantTensor(name, constant)] as const,
  )
  return { ...graph, constants: new Map(await Promise.all(loaded)) }
}

/** Returns undefined if the evaluator cannot compute an operator or the graph is too large for it. */
function evaluated(graph: Graph, feeds: ReadonlyMap<string, Tensor>) {
  try {
    return evaluate(graph, feeds, { budget: new ProgramBudget(LIMITS) })
  } catch (error) {
    if (isHalfbyteError(error) && error.code !== 'internal') return undefined
    throw error
  }
}

function judge(
  wanted: ReadonlyMap<string, Tensor>,
  found: ReadonlyMap<string, Tensor>,
  change: string,
  spread?: () => ReadonlyMap<string, Float64Array>,
): string {
  for (const [name, tensor] of wanted) {
    const own = found.get(name)
    if (`${own?.dims}` !== `${tensor.dims}`)
      throw wrong(`${name} has dims [${own?.dims}] instead of [${tensor.dims}]`, change)
    let errors = 0
    let squares = 0
    for (let at = 0; at < tensor.data.length; at++) {
      const value = Number(tensor.data[at])
      if (!(Math.abs(value) < MAX_VALUE)) return 'run, too large'
      errors += (Number(own!.data[at]) - value) ** 2
      squares += value ** 2
    }
    const error = Math.sqrt(errors / Math.max(squares, 1e-3))
    if (error <= TOLERANCE) continue
    const moved = Array.from(spread?.().get(name) ?? [])
    const most = Math.sqrt(moved.reduce((sum, each) => sum + each ** 2, 0) / Math.max(squares, 1e-3))
    if (error <= ROUNDINGS * most) return 'run, ill conditioned'
    throw wrong(`${name} differs by ${error.toPrecision(3)} of its size`, change)
  }
  return 'compared'
}

const wrong = (why: string, change: string): Error =>
  Object.assign(new Error(`${why} after: ${change}`), { name: `WrongOutputs after ${change}` })
