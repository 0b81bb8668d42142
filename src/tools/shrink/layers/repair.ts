// Makes up for dropped layers. In: the whole model, the model without them, windows of ids. Out: for each run
// of dropped layers, the last matrix of the layer before it, solved again so that this layer gives what the
// dropped ones gave.
//
// y = W x + r  what the layer gives without the dropped ones      t  what the whole model has after them
//
// The least of sum |V x + r - t|^2 + g |V - W|^2 is at V = W + (sum (t - y) x^T) H^-1, with
// H = sum x x^T + g I. Inputs are those of the model without the layers, repaired up to here. Source:
// ReplaceMe (arXiv 2505.02819), which finds a linear map of the products; here the whole matrix is solved.
import { isQuantized } from '../../../core/abi/encodings.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { readMatrix } from '../calibrate/gram.ts'
import { openSolver } from '../calibrate/solver/solver-module.ts'
import { type WalkOptions, walk } from '../calibrate/walk.ts'
import { memoryWork } from '../calibrate/work-files.ts'
import { factorBytes, factorize, plainDense, slabBytes } from '../matrix/factor.ts'
import { targetsOf } from '../matrix/targets.ts'
import { keptLayers, layerOf, renumbered } from './drop-layers.ts'

interface RepairOptions extends Pick<WalkOptions, 'host' | 'threads' | 'signal' | 'windows' | 'onProgress'> {
  /** Share of the mean of H's diagonal that g is. Default 0.01. */
  readonly damp?: number | undefined
  /** wasm/solve, compiled. Default: solves in TypeScript. */
  readonly solver?: WebAssembly.Module | undefined
}

/** A run of dropped layers, in numbers of the whole model. */
interface Run {
  readonly before: number
  readonly last: number
}

export interface Repaired {
  readonly model: PreparedModel
  /** Names of the matrices that were solved again. */
  readonly matrices: readonly string[]
}

/** Runs that have a layer before them. */
export function runsOf(layers: number, dropped: readonly number[]): Run[] {
  const kept = [...keptLayers(layers, dropped), layers]
  return kept.flatMap((before, at) => {
    const next = kept[at + 1] ?? layers
    return next > before + 1 ? [{ before, last: next - 1 }] : []
  })
}

/**
 * `shallow`: the model of `withoutLayers`. Returns it with the repaired matrices, and their names; a matrix
 * is left as it is where a norm comes between it and the residual stream. Layers before the first one that is
 * kept are not compensated for. Keeps the rows of all windows in memory, once for each run. Throws what
 * `walk` and `factorize` throw.
 */
export async function repaired(
  whole: PreparedModel,
  shallow: PreparedModel,
  dropped: readonly number[],
  options: RepairOptions,
): Promise<Repaired> {
  const runs = runsOf(whole.config.layers, dropped)
  if (runs.length === 0) return { model: shallow, matrices: [] }
  const goals = await goalsOf(whole, runs, dropped, options)
  const { damp, solver, signal } = options
  const made = new Map<string, TensorInfo>()
  await walk(shallow, {
    ...options,
    work: memoryWork(),
    goalOf: (matrix, window) => goals.get(matrix)?.[window],
    isDone: () => goals.size === 0,
    async visit({ parts, k, isAdded }, statsOf) {
      const [{ name, n } = { name: '', n: 0 }] = parts
      if (!goals.has(name)) return undefined
      const stats = isAdded ? await statsOf() : undefined
      goals.delete(name)
      if (stats === undefined) return undefined
      const dense =
        solver === undefined ? plainDense : openSolver(solver, factorBytes(k, false) + slabBytes(n, k))
      const factor = factorize(name, stats, { damp, dense })
      const weights = await readMatrix(weightOf(shallow.weights, name), signal)
      const values = Float32Array.from(targetsOf(weights, n, k, stats, factor, 1))
      const tensor = floats(name, [n, k], values)
      made.set(name, tensor)
      return new Map([[name, tensor]])
    },
  })
  return { model: withMatrices(shallow, made), matrices: [...made.keys()] }
}

/** The rows after each run in the whole model, by the matrix of the other model that is to give them. */
async function goalsOf(
  whole: PreparedModel,
  runs: readonly Run[],
  dropped: readonly number[],
  options: RepairOptions,
): Promise<Map<string, Float32Array[]>> {
  const kept = keptLayers(whole.config.layers, dropped)
  const ends = new Map<number, string>()
  const rows = new Map<number, Float32Array[]>(runs.map(({ last }) => [last, []]))
  const furthest = Math.max(...runs.map(({ last }) => last))
  let reached = 0
  await walk(whole, {
    ...options,
    work: memoryWork(),
    visit: async () => undefined,
    isDone: () => reached > furthest,
    onOutput(matrices, window, output) {
      const last = matrices.at(-1) ?? ''
      const layer = layerOf(last)
      if (layer === undefined) return
      reached = layer
      ends.set(layer, last)
      const own = rows.get(layer)
      if (own !== undefined) own[window] = output
    },
  })
  return new Map(
    runs.map(({ before, last }) => [
      renumbered(ends.get(before) ?? '', kept.indexOf(before)),
      rows.get(last) ?? [],
    ]),
  )
}

function floats(name: string, shape: readonly number[], values: Float32Array): TensorInfo {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const source = bufferSource(name, bytes)
  return { name, dtype: 'F32', shape, source, offset: 0, byteLength: bytes.byteLength }
}

/** Quantised matrices get 8 bits, which hold any values well; floats stay floats. */
function withMatrices(model: PreparedModel, made: ReadonlyMap<string, TensorInfo>): PreparedModel {
  const slots = model.plan.slots.map((slot) => {
    if (!slot.ref.parts.some(({ name }) => made.has(name))) return slot
    const encoding = isQuantized(slot.encoding) ? 'w8_g32' : 'f32'
    return { ...slot, encoding } as const
  })
  return { ...model, weights: new Map([...model.weights, ...made]), plan: { ...model.plan, slots } }
}
