// Checks a table with the times of a model's matrices in each sparse format, and looks up times and bytes.
import { GROUP_SIZE, ROW_PADDING, type SparseBase, sparseTableBytes } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isCount, isObject, type JsonObject } from '../../base/values.ts'
import { timeAt } from './choose-sparse.ts'
import { COSTS_MACHINE, type Curve, DENSE_COST, SPARSE_COST } from './costs.ts'
import { BLOCK_WORDS, denseStrip, SCALE_WORDS, stripBytes, valueWords } from './panels.ts'
import { STRIP_WRITERS } from './writers.ts'

/**
 * Bytes of an [n, k] matrix in a pack; less if all codes of a kept unit round to zero. `kept`: 1 or 0,
 * [n][k].
 */
export function keptBytes(
  kept: Uint8Array,
  n: number,
  k: number,
  base: SparseBase,
  format: CostFormat,
): number {
  const groups = Math.ceil(k / GROUP_SIZE)
  const zero = base === 'w4_g32' ? 0x88 : 0x80
  const strip = new Uint8Array(stripBytes(base, groups))
  const block = BLOCK_WORDS[base] * 4
  const vector = valueWords(base) * 4
  let bytes = sparseTableBytes(n)
  for (let first = 0; first < n; first += ROW_PADDING) {
    strip.fill(zero)
    for (let row = first; row < Math.min(n, first + ROW_PADDING); row++) {
      const panel = ((row - first) >> 3) * groups
      for (let input = 0; input < k; input++) {
        if (kept[row * k + input] === 0) continue
        // Formats drop at least 8 outputs at once, so any output of a panel stands for all of them.
        const quad = (input % GROUP_SIZE) >> 2
        strip[
          (panel + Math.floor(input / GROUP_SIZE)) * block + SCALE_WORDS * 4 + quad * vector + (input % 4)
        ] = 0
      }
    }
    bytes += STRIP_WRITERS[format].measure(denseStrip(base, groups, strip)).bytes
  }
  return bytes
}

/** Formats that can be measured at every sparsity. */
export const COST_FORMATS = ['sb84', 'sv32'] as const
export type CostFormat = (typeof COST_FORMATS)[number]

/** A merged matrix [n, k]; times are milliseconds of one product with one row. */
interface MatrixCost extends Readonly<Record<CostFormat, Curve>> {
  readonly n: number
  readonly k: number
  readonly denseMs: number
}

/** The output of `halfbyte measure-costs`. */
export interface CostTable {
  readonly version: 1
  /** Where the times were measured, for display. */
  readonly machine: string
  readonly model: string
  readonly build: string
  readonly threads: number
  readonly format: SparseBase
  /** Milliseconds per decoded token besides these matrices. */
  readonly restMs: number
  readonly matrices: readonly MatrixCost[]
}

/** The times of products with one row, in milliseconds. */
export interface Costs {
  readonly machine: string
  /** Absent: the built-in times. */
  readonly table?: CostTable | undefined
  /** Absent if unknown, in which case tokens per second cannot be predicted. */
  readonly restMs?: number | undefined
  /** `kept`: the share of weights that are kept. Throws `unsupported` for a matrix that was not measured. */
  timeOf(n: number, k: number, format: CostFormat | undefined, kept: number): number
}

const GROUP_WEIGHTS = 8 * 32

/** The built-in times: relaxed build, one thread, any shape. */
export const builtInCosts = (base: SparseBase): Costs => ({
  machine: COSTS_MACHINE,
  timeOf(n, k, format, kept) {
    const { relaxed } = SPARSE_COST
    const ns = format === undefined ? DENSE_COST.relaxed[base] : timeAt(relaxed[`${base}_${format}`], kept)
    return ((n * k) / GROUP_WEIGHTS) * ns * 1e-6
  },
})

export function measuredCosts(table: CostTable): Costs {
  const { machine, build, threads, restMs, matrices } = table
  const known = new Map(matrices.map((each) => [`${each.n}x${each.k}`, each]))
  return {
    machine: `${machine}, ${build}, ${threads} thread${threads === 1 ? '' : 's'}`,
    table,
    restMs,
    timeOf(n, k, format, kept) {
      const found = known.get(`${n}x${k}`)
      if (found !== undefined) return format === undefined ? found.denseMs : timeAt(found[format], kept)
      throw new HalfbyteError(
        'unsupported',
        `the costs have no matrix of ${n} x ${k}, only ${[...known.keys()].join(', ')}; measure them on this model`,
        { n, k },
      )
    },
  }
}

/** Throws `format` for a table that `measure-costs` could not have written. */
export function parseCostTable(file: string, table: JsonObject): CostTable {
  const wrong = (what: string) =>
    new HalfbyteError('format', `${file}: ${what}; write it with halfbyte measure-costs`, { file })
  const { version, machine, model, build, threads, format, restMs, matrices } = table
  if (version !== 1) throw wrong(`its version is ${shown(version)}, but only 1 is supported`)
  if (format !== 'w4_g32' && format !== 'w8_g32') {
    throw wrong(`its format is ${shown(format)} but must be w4_g32 or w8_g32`)
  }
  for (const [name, text] of Object.entries({ machine, model, build })) {
    if (typeof text !== 'string') throw wrong(`its ${name} is ${shown(text)}, not a string`)
  }
  if (!isCount(threads) || threads < 1) throw wrong(`its threads are ${shown(threads)}`)
  if (!isTime(restMs)) throw wrong(`its restMs is ${shown(restMs)}, which is not a time`)
  if (!Array.isArray(matrices) || matrices.length === 0) throw wrong('it has no matrices')
  for (const [index, each] of matrices.entries()) {
    if (!isObject(each) || !isCount(each['n']) || !isCount(each['k']) || each['n'] * each['k'] === 0) {
      throw wrong(`matrix ${index} of ${matrices.length} has no shape`)
    }
    const shape = `${each['n']} x ${each['k']}`
    if (!isTime(each['denseMs'])) throw wrong(`the dense time of ${shape} is ${shown(each['denseMs'])}`)
    for (const name of COST_FORMATS) {
      if (!isCurve(each[name])) {
        throw wrong(`${name} of ${shape} is not a list of two or more [share, ms] sorted by share`)
      }
    }
  }
  return table as unknown as CostTable
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'missing').slice(0, 40)

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY

const isCurve = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length >= 2 &&
  value.every(
    (point, index) =>
      Array.isArray(point) &&
      point.length === 2 &&
      point[0] >= 0 &&
      point[0] <= 1 &&
      isTime(point[1]) &&
      (index === 0 || point[0] > value[index - 1][0]),
  )
