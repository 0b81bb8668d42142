// Loaded graphs. In: the bytes of an accepted ONNX decoder. Out: whether its plan, run in chunks and token by
// token, gives the evaluator's logits. The evaluator runs the graph unchanged, except that it does not round
// activations to codes.
import { type ByteSource, bufferSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import { Scheduler } from '../../../src/core/generate/schedule/scheduler.ts'
import { Sequence } from '../../../src/core/generate/schedule/sequence.ts'
import { graphBuilder } from '../../../src/core/graph/builder.ts'
import { openRuntime } from '../../../src/core/runtime/open-runtime.ts'
import { SinglePool } from '../../../src/core/runtime/pool.ts'
import { placeModel } from '../../../src/engine/load/place-model.ts'
import { type PreparedModel, prepareModel } from '../../../src/engine/load/prepare.ts'
import { type Graph, type Input, isStored, type Node, readsOf } from '../../../src/network/onnx/ir/graph.ts'
import { isFloat, reader, type Tensor, tensorOf, zeros } from '../../../src/network/onnx/ir/tensor.ts'
import { openGraph } from '../../../src/network/onnx/open-model.ts'
import { isRecurrentState, outputsOfStates } from '../../../src/network/onnx/raise/known/states.ts'
import { type OnnxModel, readModel } from '../../../src/network/onnx/read-model.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { evaluate } from '../../conformance/onnx/verify/evaluate.ts'
import { graphKey } from '../graph-key.ts'
import { unrounded } from '../unrounded.ts'

const MODEL = 'model.onnx'
/** Context length of the models. Short, to keep proofs short. */
const CONTEXT = 48
const CONFIG = new TextEncoder().encode(JSON.stringify({ max_position_embeddings: CONTEXT }))
const IDS = [5, 17, 33, 40, 40, 9]
/** Lengths at which the plan's and the evaluator's chunks end: a prompt in two chunks, then one token. */
const ENDS = [3, 5, 6]
/** Largest difference of logits relative to their magnitude. Scales of codes are rounded to f16. */
const TOLERANCE = 2e-3
/** Larger logits result from f32 sums that depend on their order. */
const MAX_LOGIT = 1e4
/**
 * With larger weights, squares of sums exceed f32, in which plans compute; the evaluator uses f64. A scale of
 * codes is multiplied by up to 255.
 */
const MAX_WEIGHT = 1e4
/** In an f16 graph, squares above 65504 become infinite in the evaluator, but not in plans, which use f32. */
const MAX_HALF = 8

const host = nodeHost()
let engine: ReturnType<typeof openRuntime> | undefined

/**
 * The plan's logits, by position. All inputs share one memory, because creating one takes longer than running
 * the plan.
 */
async function planRows(prepared: PreparedModel, ids: readonly number[]): Promise<Float32Array[]> {
  engine ??= openRuntime({ host, threads: 1, pool: 'single', build: 'auto', needBytes: 0 })
  const { arena, engine: code } = await engine
  const start = arena.mark()
  const { signal } = new AbortController()
  const yieldTask = () => host.yieldTask()
  const rows: Float32Array[] = []
  const placed = await placeModel(arena, prepared, { signal, yieldTask, onWeight: () => undefined })
  const { plan, written, step, cache } = placed
  const pool = new SinglePool(code, arena)
  placed.connect(pool)
  const scheduler = new Scheduler({ pool, arena, plan, written, step, now: () => host.now(), yieldTask })
  const sequence = new Sequence(cache)
  for (const end of ENDS) {
    sequence.setTokens(ids.slice(0, end))
    const onLogits = (position: number, row: Float32Array) => {
      rows[position] = row.slice()
    }
    await scheduler.forward({ sequence, logits: 'all', onLogits, signal })
  }
  sequence.release()
  scheduler.dispose()
  // Clears the memory for the next model, as if it were new.
  arena.u8.fill(0, start, arena.mark())
  arena.reset(start)
  return rows
}

/** Keys of the graphs that this process has loaded and compared. */
const known = new Set<string>()
const MAX_KNOWN = 2 ** 20

/**
 * Throws a typed error if the file is rejected, and an `Error` called `WrongLogits` if the logits differ. A
 * graph that was compared before is not loaded again, because many changes affect only names.
 */
export async function loadAndCompare(bytes: Uint8Array, change: string): Promise<string> {
  const source = bufferSource(MODEL, bytes)
  const model = await readModel(source)
  const key = graphKey(model.graph)
  if (key !== undefined && known.has(key)) return 'known'
  const outcome = await loadAndJudge(source, model, change)
  if (key !== undefined && known.size < MAX_KNOWN) known.add(key)
  return outcome
}

/** Opens a graph with the comparison's context. Throws a typed error if it is rejected. */
export async function openDecoder(source: ByteSource, model?: OnnxModel): Promise<ModelFile> {
  const config = bufferSource('config.json', CONFIG)
  const find = async (name: string) => (name === config.name ? config : undefined)
  return openGraph(model ?? (await readModel(source)), { source, find, newGraph: graphBuilder })
}

async function loadAndJudge(source: ByteSource, model: OnnxModel, change: string): Promise<string> {
  const file = await openDecoder(source, model)
  const prepared = await prepareModel(file, { weights: 'f32' })
  const vocab = prepared.plan.logits.width
  const ids = IDS.map((id) => id % vocab)
  const found = await planRows(prepared, ids).catch((error) => {
    engine = undefined
    throw error
  })
  const graph = [...model.graph.constants.values()].some(isStored)
    ? (await readModel(source, { inlineBytes: Number.POSITIVE_INFINITY })).graph
    : model.graph
  if (hasLargeWeights(graph)) return 'loaded, too large'
  const expected = literalRows(unrounded(graph), ids)
  if (expected === undefined) return 'loaded, not computed'
  return judge(found, expected, change)
}

function judge(
  found: readonly Float32Array[],
  expected: readonly (Float32Array | undefined)[],
  change: string,
): string {
  let errors = 0
  let squares = 0
  let most = 0
  for (const [position, row] of expected.entries()) {
    for (const [id, value] of (row ?? []).entries()) {
      errors += (found[position]![id]! - value) ** 2
      squares += value ** 2
      most = Math.max(most, Math.abs(value))
      if (!Number.isFinite(value)) return 'loaded, not finite'
    }
  }
  if (most > MAX_LOGIT) return 'loaded, too large'
  const error = Math.sqrt(errors / Math.max(squares, 1e-6))
  if (error <= TOLERANCE) return 'compared'
  const wrong = new Error(`logits differ by ${error.toPrecision(3)} of their size after: ${change}`)
  wrong.name = `WrongLogits after ${change}`
  throw wrong
}

/**
 * Returns the evaluator's logits, chunk by chunk, or undefined if it cannot compute an operator or the graph
 * is too large for it.
 */
function literalRows(graph: Graph, ids: readonly number[]): (Float32Array | undefined)[] | undefined {
  const states = graph.inputs.filter(({ type }) => isFloat(type?.dtype ?? 'i64'))
  // In the plan's order, which may differ from the inputs'.
  const comesOutAs = outputsOfStates(states, graph.outputs)
  const rows: (Float32Array | undefined)[] = []
  let kept = new Map<string, Tensor>()
  let past = 0
  let known: Graph | undefined
  // Some graphs only take one token per step. A graph without states gets all tokens each time.
  const ends = isOfOneToken(graph) ? ids.map((_, at) => at + 1) : states.length === 0 ? [ids.length] : ENDS
  for (const end of ends) {
    const tokens = end - past
    const feeds = new Map(
      graph.inputs.map((input) => [
        input.name,
        kept.get(input.name) ?? feedOf(input, ids.slice(past, end), past),
      ]),
    )
    let made: ReadonlyMap<string, Tensor>
    try {
      known ??= withKnown(graph)
      made = evaluate(known, feeds)
    } catch (error) {
      if (isUncomputed(error)) return undefined
      throw error
    }
    const logits = made.get(graph.outputs[0]!)!
    const vocab = logits.dims.at(-1)!
    const given = logits.data.length / vocab
    const read = reader(logits)
    for (let row = 0; row < given; row++)
      rows[end - given + row] = Float32Array.from({ length: vocab }, (_, id) => read(row * vocab + id))
    kept = new Map([...comesOutAs].map(([name, output]) => [name, made.get(output)!]))
    past += tokens
  }
  return rows
}

const isUncomputed = (error: unknown): boolean =>
  isHalfbyteError(error) && error.code !== 'internal' && error.code !== 'format'

/** Values that depend only on constants are the same in each chunk. */
function withKnown(graph: Graph): Graph {
  const known = new Set(graph.constants.keys())
  const isKnown = (node: Node): boolean =>
    readsOf(node).every((name) => known.has(name)) &&
    ![...node.attributes.values()].some(({ kind }) => kind === 'graph')
  const nodes: Node[] = []
  const others: Node[] = []
  for (const node of graph.nodes) {
    if (!isKnown(node)) {
      others.push(node)
      continue
    }
    nodes.push(node)
    for (const name of node.outputs) known.add(name)
  }
  const reads = new Set([...others.flatMap(readsOf), ...graph.outputs])
  const outputs = nodes.flatMap((node) => node.outputs.filter((name) => reads.has(name)))
  const made = evaluate({ ...graph, nodes, outputs }, new Map())
  return { ...graph, nodes: others, constants: new Map([...graph.constants, ...made]) }
}

const isOfOneToken = ({ inputs }: Graph): boolean =>
  inputs.some((input) => isRecurrentState(input) && isFloat(input.type?.dtype ?? 'i64'))

/** The batch size is 1. A state's unnamed axis is the length of its past, initially 0. */
function feedOf({ name, type }: Input, ids: readonly number[], past: number): Tensor {
  const dtype = type?.dtype ?? 'i64'
  const dims = type?.dims ?? []
  if (isFloat(dtype))
    return zeros(
      dtype,
      dims.map((dim, axis) => (typeof dim === 'number' ? dim : axis === 0 ? 1 : 0)),
    )
  const total = past + ids.length
  if (/mask/.test(name)) return tensorOf(dtype, [1, total], Array<number>(total).fill(1))
  const values = /position/.test(name) ? ids.map((_, at) => past + at) : ids
  return tensorOf(dtype, [1, values.length], values)
}

/** Masks contain the lowest float; a model's matrices, vectors and scales do not. */
function hasLargeWeights({ constants, nodes }: Graph): boolean {
  const scales = new Set(nodes.filter(({ op }) => SCALING.has(op)).flatMap(({ inputs }) => inputs))
  return [...constants].some(
    ([name, constant]) =>
      !isStored(constant) &&
      isFloat(constant.dtype) &&
      (constant.data.length > 1 || scales.has(name)) &&
      (constant.data as Float32Array).some(
        (value) => !(Math.abs(value) <= (constant.dtype === 'f16' ? MAX_HALF : MAX_WEIGHT)),
      ),
  )
}

const SCALING: ReadonlySet<string> = new Set(['Mul', 'Div', 'DequantizeLinear'])
