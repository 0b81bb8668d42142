// The matrix. In: a family, a format, weights and KV format, a build, a pool. Out: the difference of its
// logits from one thread's.
import type { KvFormat } from '../../../../src/core/graph/ir.ts'
import type { Build } from '../../../../src/core/runtime/features.ts'
import type { PoolKind } from '../../../../src/core/runtime/pool.ts'
import type { WeightPolicy } from '../../../../src/core/weights/policy.ts'
import { logitsOf, relativeError, withBuilt } from '../node-engine.ts'
import { TOKENS } from './family-golden.ts'
import { CONTEXT, FORMATS, type Format, filesOf, type MatrixFamily } from './matrix-families.ts'

interface MatrixPool {
  readonly pool: PoolKind
  readonly threads: number
}

export interface Cell extends MatrixPool {
  readonly format: Format
  readonly weights: WeightPolicy
  readonly kvCache: KvFormat
  readonly build: Build
}

const WEIGHTS: readonly WeightPolicy[] = ['auto', 'w8', 'w4', 'w4_channel']
const EXACT: KvFormat = { k: 'f32', v: 'f32' }
const KV_FORMATS: readonly KvFormat[] = [EXACT, { k: 'int8', v: 'int8' }, { k: 'int8', v: 'fp8' }]
const BUILDS: readonly Build[] = ['relaxed', 'simd128']
const SHARDS = [2, 3, 4].map((threads): MatrixPool => ({ pool: 'shards', threads }))
export const POOLS: readonly MatrixPool[] = [
  { pool: 'single', threads: 1 },
  { pool: 'shared', threads: 2 },
  ...SHARDS,
]

/**
 * Bounds on the difference between shards and one thread, by kind of rounding: the root mean square of the
 * difference over that of the logits. docs/guide/pools.md states them. Everything else is bit-identical.
 */
export const BOUNDS = { float: 1e-5, quantized: 0.02, channel: 0.1 } as const
/**
 * The bound for two formats of one model in f32. Some families order the rows of heads differently in GGUF.
 */
export const FORMAT_BOUND = 1e-5
export type Rounding = keyof typeof BOUNDS

export function roundingOf({ weights, kvCache }: Pick<Cell, 'weights' | 'kvCache'>): Rounding {
  if (weights === 'w4_channel') return 'channel'
  return weights === 'auto' && kvCache.k === 'f32' ? 'float' : 'quantized'
}

export const nameOf = ({ format, weights, kvCache, build, pool, threads }: Cell): string =>
  `${format} ${weights}, KV ${kvCache.k} ${kvCache.v}, ${build}, ${pool} of ${threads}`

/** Every cell of a family. */
export function allCells({ hasKv }: MatrixFamily): Cell[] {
  const cells: Cell[] = []
  for (const format of FORMATS)
    for (const weights of WEIGHTS)
      for (const kvCache of hasKv ? KV_FORMATS : [EXACT])
        for (const build of BUILDS)
          for (const each of POOLS) cells.push({ format, weights, kvCache, build, ...each })
  return cells
}

/**
 * Each pool with exact or rounded weights. That choice and the storage formats rotate from family to family.
 */
export function someCells({ hasKv }: MatrixFamily, turn: number): Cell[] {
  const nth = <T>(of: readonly T[], index: number): T => of[index % of.length] as T
  const exact = { format: nth(FORMATS, turn), weights: 'auto', kvCache: EXACT } as const
  const rounded = {
    format: nth(FORMATS, turn + 1),
    weights: nth(WEIGHTS.slice(1), Math.floor(turn / 2)),
    kvCache: hasKv ? nth(KV_FORMATS, turn) : EXACT,
  }
  return POOLS.map((each, at): Cell => {
    const one = (turn + at) % 2 === 0 ? exact : rounded
    return { ...one, build: nth(BUILDS, Math.floor((turn + at) / 2)), ...each }
  })
}

export interface Found {
  readonly difference: number
  readonly bound: number
  /** Workers that actually share the model. */
  readonly threads: number
  /** Why there are fewer workers than requested. */
  readonly note: string | undefined
}

/** Compares one family with its results on one thread. */
export class Comparison {
  readonly #family: MatrixFamily
  readonly #files = new Map<string, ReturnType<typeof filesOf>>()
  readonly #right = new Map<string, Promise<readonly Float32Array[]>>()

  constructor(family: MatrixFamily) {
    this.#family = family
  }

  /** Throws the errors of a load. */
  async of(cell: Cell): Promise<Found> {
    const right = await this.#reference(cell)
    const { rows, info } = await this.#run(cell)
    const bound = info.pool === 'shards' ? BOUNDS[roundingOf(cell)] : 0
    const [note] = info.notes
    return { difference: relativeError(rows, right), bound, threads: info.threads, note: note?.text }
  }

  /** The difference between the formats, on one thread. */
  async ofFormats(weights: WeightPolicy): Promise<number> {
    const one = { weights, kvCache: EXACT }
    const [right, ...others] = await Promise.all(
      (['safetensors', 'gguf', 'hbm'] as const).map((format) => this.#reference({ format, ...one })),
    )
    return Math.max(...others.map((rows) => relativeError(rows, right!)))
  }

  #reference({ format, weights, kvCache }: Pick<Cell, 'format' | 'weights' | 'kvCache'>) {
    const key = `${format} ${weights} ${kvCache.k} ${kvCache.v}`
    const known =
      this.#right.get(key) ??
      this.#run({ format, weights, kvCache, build: 'relaxed', pool: 'single', threads: 1 }).then(
        ({ rows }) => rows,
      )
    this.#right.set(key, known)
    return known
  }

  async #run({ format, weights: policy, ...options }: Cell) {
    const key = `${format} ${policy}`
    const known = this.#files.get(key) ?? filesOf(this.#family, format, policy)
    this.#files.set(key, known)
    const { files, weights } = await known
    return withBuilt(files, { ...options, weights, contextLength: CONTEXT }, async (built) => ({
      rows: await logitsOf(built, TOKENS),
      info: built.info,
    }))
  }
}
