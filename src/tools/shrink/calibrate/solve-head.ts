// Chooses the codes of the logits matrix by GPTQ, for the hidden states that the compressed model has on the
// calibration windows.
//
// If the matrix is also the embedding, its rows are read individually too, so each row's own error matters.
// Damping adds that error to the loss.

import type { PackedEncoding } from '../../../core/abi/encodings.ts'
import { groupEncoding, matrixBytes } from '../../../core/abi/encodings.ts'
import { buildGraph } from '../../../core/arch/families.ts'
import { type Weights, weightOf } from '../../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { compile } from '../../../core/graph/compile-graph.ts'
import type { Value } from '../../../core/graph/ir.ts'
import type { Graph, Node } from '../../../core/graph/nodes.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { layMatrix } from '../codes/lay.ts'
import type { FactorOptions } from '../matrix/factor.ts'
import { type InputStats, InputSums } from '../matrix/hessian.ts'
import { codedLinearsBytes } from './coded-linears.ts'
import { GramMachine, gramBytes, matrixSlabs } from './gram.ts'
import { SegmentRunner } from './segment-runner.ts'
import { type CrewOptions, crewOf, type SolverCrew } from './solver/solver-crew.ts'
import type { WalkOptions } from './walk.ts'

interface HeadOptions
  extends Omit<FactorOptions, 'dense'>,
    Pick<WalkOptions, 'host' | 'threads' | 'signal' | 'windows' | 'onProgress'>,
    Pick<CrewOptions, 'solver' | 'startSolver'> {
  readonly format: Format
  /** Maximum sweeps over the codes after solving. */
  readonly sweeps: number
}

export interface SolvedHead {
  /** In the kernels' layout. */
  readonly bytes: Uint8Array
  /** Losses of the codes, and of the weights' nearest codes; see `MatrixReport`. */
  readonly loss: number
  readonly lossBefore: number
  readonly dead: number
}

const EMBEDDING = 'embed.weight'
const LOGITS = 'output.weight'
/** Maximum rows per step. */
const STEP_TOKENS = 256

/** The name of the matrix that computes the logits: the embedding's, if the two are the same. */
export const headName = ({ config }: Pick<PreparedModel, 'config'>): string =>
  config.tiedEmbeddings ? EMBEDDING : LOGITS

/** The encodings of the weights in a model's own plan, without sparse forms. */
export function planEncodings({ plan }: Pick<PreparedModel, 'plan'>): (name: string) => PackedEncoding {
  const encodings = new Map<string, PackedEncoding>()
  for (const { ref, encoding } of plan.slots)
    for (const { name } of ref.parts) encodings.set(name, groupEncoding(encoding))
  return (name) => encodings.get(name) ?? 'f32'
}

/**
 * `weights`: those of the compressed model, in `encodingOf`. Reads the head from the original model.
 * Throws `integrity` for non-finite hidden states, `unsupported` for a model without a single last norm or a
 * Hessian that cannot be solved, `out-of-memory`, or the signal's reason.
 */
export async function solveHead(
  prepared: PreparedModel,
  weights: Weights,
  encodingOf: (name: string) => PackedEncoding,
  options: HeadOptions,
): Promise<SolvedHead> {
  const { signal, format, sweeps } = options
  const name = headName(prepared)
  const crew = crewOf(options)
  try {
    const stats = await hiddenStats(prepared, weights, encodingOf, { crew, name }, options)
    const known = await crew.know(name, stats, options)
    const tensor = weightOf(prepared.weights, name)
    const [rows = 0, k = 0] = tensor.shape
    const bytes = new Uint8Array(matrixBytes(format, rows, k))
    const sums = { loss: 0, lossBefore: 0 }
    let at = 0
    let done = 0
    for await (const { n, values } of matrixSlabs(tensor, signal)) {
      const slab = { n, k, weights: values, options: { format, sweeps, share: 0 } }
      const { coded, loss, lossBefore } = await crew.solve(slab, known)
      const laid = layMatrix(coded)
      bytes.set(laid, at)
      at += laid.length
      sums.loss += loss
      sums.lossBefore += lossBefore
      done += n
      options.onProgress?.({ segment: 0, segments: 1, what: `rows of ${name}`, done, total: rows })
    }
    return { bytes, ...sums, dead: known.factor.dead }
  } finally {
    crew.dispose()
  }
}

/** Statistics of the last hidden states, at every position of the windows. */
async function hiddenStats(
  prepared: PreparedModel,
  weights: Weights,
  encodingOf: (name: string) => PackedEncoding,
  { crew, name }: { readonly crew: SolverCrew; readonly name: string },
  options: HeadOptions,
): Promise<InputStats> {
  const { windows, host, signal } = options
  const length = windows[0]?.length ?? 0
  const tokens = Math.min(length, STEP_TOKENS)
  const graph = hiddenGraph(buildGraph(prepared.config), prepared.file.name)
  const plan = compile(graph, { tokens, logitRows: tokens, encodingOf })
  const tap = { k: plan.logits.width }
  const shape = { taps: [tap], window: length, hasDrift: false }
  const memory = await crew.openCodes(gramBytes(shape) + codedLinearsBytes(plan))
  const gram = new GramMachine(crew, memory, shape)
  const products = { crew, memory }
  const runner = await SegmentRunner.open({ ...prepared, plan, weights }, 0, length, products, options)
  try {
    const sums = new InputSums(name, tap.k)
    gram.begin(tap)
    for (const [index, window] of windows.entries()) {
      options.onProgress?.({ segment: 0, segments: 1, what: name, done: index, total: windows.length })
      const rows = await runner.outputs(window)
      sums.addRows(rows)
      await gram.add(tap, rows)
      await host.yieldTask()
      signal.throwIfAborted()
    }
    gram.read(tap, sums)
    return sums.done()
  } finally {
    runner.dispose()
  }
}

/**
 * The model up to the last norm, which it computes for every row, not only for rows whose logits are needed.
 */
function hiddenGraph({ nodes, hidden, stateGroups }: Graph, file: string): Graph {
  const at = nodes.findIndex(({ op }) => op === 'takeRows')
  const [taken, norm] = nodes.slice(at)
  if (taken?.op !== 'takeRows' || (norm?.op !== 'rmsnorm' && norm?.op !== 'layernorm')) throw noNorm(file)
  if (norm.output?.id !== hidden.id) throw noNorm(file)
  const output: Value = { ...hidden, shape: [taken.input.shape[0], hidden.shape[1]] }
  const last: Node = { ...norm, input: taken.input, output }
  return { nodes: [...nodes.slice(0, at), last], output, hidden: output, stateGroups }
}

const noNorm = (file: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file} does not compute its logits from a single last norm, so its table cannot be solved; choose --method rtn, or omit --table and --head`,
    { file },
  )
