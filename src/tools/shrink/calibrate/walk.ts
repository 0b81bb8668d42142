// The walk: computes each matrix's inputs in turn, once the matrices before it have been compressed.
//
// One segment is in memory at a time. Its output for all windows is a work file, which the next segment
// reads. An interrupted walk resumes from the newest of these files.

import { groupEncoding, type PackedEncoding } from '../../../core/abi/encodings.ts'
import { buildGraph } from '../../../core/arch/families.ts'
import { roleOf, type Weights } from '../../../core/arch/tensors/names.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { compile } from '../../../core/graph/compile-graph.ts'
import type { Plan } from '../../../core/graph/plan/plan.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import type { InputStats } from '../matrix/hessian.ts'
import { codedLinearsBytes } from './coded-linears.ts'
import { GramMachine, gramBytes } from './gram.ts'
import type { CodeMemory } from './products/code-memory.ts'
import { SegmentPass, type Side } from './segment-pass.ts'
import {
  PLACEHOLDER,
  type RunnerOptions,
  type Segment,
  SegmentRunner,
  segmentsOf,
  type Tap,
  tapsOf,
} from './segment-runner.ts'
import { type CrewOptions, crewOf, type SolverCrew } from './solver/solver-crew.ts'
import type { WorkFiles } from './work-files.ts'

/** The matrices of one product, which share inputs. */
export interface Product {
  /** The names of its matrices, e.g. `layers.0.attn_q + attn_k + attn_v`. */
  readonly name: string
  readonly parts: Tap['parts']
  readonly k: number
}

export interface WalkOptions extends RunnerOptions, Pick<CrewOptions, 'solver' | 'startSolver'> {
  /** The threads that compute products. Default: a crew of its own. */
  readonly crew?: SolverCrew | undefined
  /**
   * Runs the original model alongside the compressed one, and reports how far inputs have drifted. Default
   * false.
   */
  readonly drift?: boolean | undefined
  /** Token ids; all windows have the same length. */
  readonly windows: readonly (readonly number[])[]
  readonly work: WorkFiles
  /**
   * Called for each product. `stats` runs the windows up to the product. Returns tensors that replace its
   * matrices from then on.
   */
  readonly visit: (
    product: Product,
    stats: () => Promise<InputStats>,
  ) => Promise<ReadonlyMap<string, TensorInfo> | undefined>
  readonly onProgress?: ((progress: WalkProgress) => void) | undefined
}

export interface WalkProgress {
  readonly segment: number
  readonly segments: number
  /** The current activity. */
  readonly what: string
  readonly done: number
  readonly total: number
}

/** Maximum rows per step. */
const STEP_TOKENS = 256

/**
 * Throws `integrity` for non-finite inputs, `storage-full` if the work files do not fit, errors of reading
 * weights, `out-of-memory`, what `visit` throws, or the signal's reason.
 */
export async function walk(prepared: PreparedModel, options: WalkOptions): Promise<void> {
  const crew = options.crew ?? crewOf(options)
  try {
    await walkWith(crew, prepared, options)
  } finally {
    if (options.crew === undefined) crew.dispose()
  }
}

async function walkWith(crew: SolverCrew, prepared: PreparedModel, options: WalkOptions): Promise<void> {
  const { work, signal, windows } = options
  const segments = segmentsOf(buildGraph(prepared.config))
  const weights = new Map(prepared.weights)
  const kinds = options.drift === true ? KINDS : KINDS.slice(0, 1)
  for (const [index, segment] of segments.entries()) {
    const isLast = index + 1 === segments.length
    if (!isLast && (await isPast(work, index + 1, segments.length, kinds))) continue
    const report = (what: string, done: number) =>
      options.onProgress?.({ segment: index, segments: segments.length, what, done, total: windows.length })
    const context = { crew, prepared, segment, options, report }
    const sides: Side[] = []
    try {
      const { memory, gram } = await openProducts(context, kinds.length)
      for (const kind of kinds) {
        const own = kind === 'float' ? prepared.weights : weights
        sides.push(await openSide(context, memory, own, index === 0 ? undefined : rowsName(index, kind)))
      }
      const [main] = sides as [Side]
      const { taps } = main.runner
      const last = isLast ? undefined : taps.at(-1)
      const pass = new SegmentPass(sides, last, { ...options, gram, report, file: aheadName(index) })
      for (const tap of taps) {
        if (!tap.parts.every(({ name }) => roleOf(name) === 'matrix')) continue
        const product = { name: nameOf(tap), parts: tap.parts, k: tap.k }
        const made = await options.visit(product, () => pass.stats(tap, product.name))
        if (made === undefined || made.size === 0) continue
        for (const [name, tensor] of made) weights.set(name, tensor)
        await main.runner.reload(tap, weights)
      }
      if (isLast) return
      for (const [at, kind] of kinds.entries()) {
        await work.write(rowsName(index + 1, kind), pass.outputs(at))
      }
      await work.remove(aheadName(index))
    } finally {
      for (const { runner } of sides) runner.dispose()
    }
    signal.throwIfAborted()
    // A walk that is resumed after its end finds the last rows and has nothing left to run.
    if (index > 0) for (const kind of kinds) await work.remove(rowsName(index, kind))
  }
}

/** The model that computed the rows: the one compressed so far, or the original. */
type Kind = 'rows' | 'float'
const KINDS: readonly Kind[] = ['rows', 'float']

const aheadName = (segment: number): string => `ahead-${segment}`

const rowsName = (segment: number, kind: Kind): string => `${kind}-${segment}`

/** Whether the rows of `segment` or of a later one exist. */
async function isPast(
  work: WorkFiles,
  segment: number,
  segments: number,
  kinds: readonly Kind[],
): Promise<boolean> {
  for (let index = segment; index < segments; index++) {
    const files = await Promise.all(kinds.map((kind) => work.open(rowsName(index, kind))))
    if (files.every((file) => file !== undefined)) return true
  }
  return false
}

interface Context {
  readonly crew: SolverCrew
  readonly prepared: PreparedModel
  readonly segment: Segment
  readonly options: WalkOptions
  readonly report: (what: string, done: number) => void
}

/** The memory of a segment's products for all sides, and what sums their inputs. */
async function openProducts(
  { crew, prepared, segment, options }: Context,
  sides: number,
): Promise<{ readonly memory: CodeMemory; readonly gram: GramMachine }> {
  const window = options.windows[0]?.length ?? 0
  const plan = planOf(prepared, segment, window)
  const shape = { taps: tapsOf(plan), window, hasDrift: sides > 1 }
  const memory = await crew.openCodes(gramBytes(shape) + sides * codedLinearsBytes(plan))
  return { memory, gram: new GramMachine(crew, memory, shape) }
}

async function openSide(
  context: Context,
  memory: CodeMemory,
  weights: Weights,
  file: string | undefined,
): Promise<Side> {
  const { crew, segment, options } = context
  const length = options.windows[0]?.length ?? 0
  const { width } = segment
  const rows = file === undefined ? undefined : await options.work.open(file)
  if (file !== undefined && rows === undefined) {
    throw new HalfbyteError('integrity', `the work file ${file} is missing; start again`, { file })
  }
  return {
    runner: await SegmentRunner.open(
      prepareSegment(context, weights, length),
      width,
      length,
      { crew, memory },
      options,
    ),
    async read(index) {
      if (rows === undefined) return options.windows[index] as readonly number[]
      const bytes = await rows.read(index * length * width * 4, length * width * 4, options.signal)
      // The bytes may be unaligned within their buffer.
      return new Float32Array(bytes.slice().buffer)
    },
  }
}

/** The plan of a segment. Matrices are f32; tables keep the model's encoding. */
function planOf(prepared: PreparedModel, segment: Segment, length: number): Plan {
  const own = new Map<string, PackedEncoding>()
  for (const { ref, encoding } of prepared.plan.slots) {
    for (const { name } of ref.parts) own.set(name, groupEncoding(encoding))
  }
  const encodingOf = (name: string): PackedEncoding =>
    name !== PLACEHOLDER && roleOf(name) === 'table' ? (own.get(name) ?? 'f32') : 'f32'
  const tokens = Math.min(length, STEP_TOKENS)
  return compile(segment.graph, { tokens, logitRows: tokens, encodingOf })
}

/** The segment as a separate model. */
function prepareSegment({ prepared, segment }: Context, weights: Weights, length: number): PreparedModel {
  const plan = planOf(prepared, segment, length)
  const zeros = new Uint8Array(segment.width * 4)
  const placeholder: TensorInfo = {
    name: PLACEHOLDER,
    dtype: 'F32',
    shape: [1, segment.width],
    source: bufferSource(PLACEHOLDER, zeros),
    offset: 0,
    byteLength: zeros.byteLength,
  }
  return { ...prepared, plan, weights: new Map([...weights, [PLACEHOLDER, placeholder]]) }
}

/** `layers.0.attn_q + attn_k + attn_v`. */
function nameOf({ parts }: Tap): string {
  const [first = '', ...others] = parts.map(({ name }) => name.replace(/\.weight$/, ''))
  return [first, ...others.map((name) => name.replace(/^.*\./, ''))].join(' + ')
}
