// Chooses between dense and each sparse format of a matrix by measured times, and gives the reason.
import type { PackedEncoding, SparseBase, SparseFormat } from '../../abi/encodings.ts'
import type { Curve, MeasuredBuild } from './costs.ts'
import { COSTS_MACHINE, DENSE_COST, SPARSE_COST } from './costs.ts'
import { STRIP_WRITERS } from './writers.ts'

/**
 * `auto`: the fastest encoding. `none`: dense. A format: that format for every matrix that it makes smaller.
 */
export type SparsePolicy = 'auto' | 'none' | SparseFormat

/** A matrix, counted over all its parts. */
export interface Census {
  readonly denseBytes: number
  readonly formats: Readonly<Record<SparseFormat, { kept: number; units: number; bytes: number }>>
}

export interface SparseChoice {
  readonly encoding: PackedEncoding
  /** The reason, as one sentence for people. */
  readonly why: string
}

/**
 * In the relaxed build, the predicted speed of a format must be at least this multiple of the dense speed,
 * because times vary by a few per cent. In the other build, for the same file, it must not be slower than
 * dense.
 */
const MARGIN = 1.03
/** No encoding may take more than 6 % over dense. */
const MOST_BYTES = 1.06

export function chooseSparse(base: SparseBase, census: Census, policy: SparsePolicy): SparseChoice {
  if (policy === 'none') return { encoding: base, why: 'dense was asked for' }
  if (policy !== 'auto') return forced(base, census, policy)
  const names = Object.keys(STRIP_WRITERS) as SparseFormat[]
  const ranked = names
    .filter((format) => census.formats[format].bytes <= MOST_BYTES * census.denseBytes)
    .filter((format) => speedOf(base, format, census, 'simd128') >= 1)
    .map((format) => ({ format, speed: speedOf(base, format, census, 'relaxed') }))
    .sort((a, b) => b.speed - a.speed)
  const best = ranked[0]
  if (best === undefined || best.speed < MARGIN) {
    const shares = names.map((format) => describe(format, census)).join(', ')
    return { encoding: base, why: `dense is as fast in some build: ${shares}` }
  }
  const speed = `${best.speed.toFixed(2)} times as fast as dense by the times taken on ${COSTS_MACHINE}`
  return { encoding: `${base}_${best.format}`, why: `${describe(best.format, census)}; ${speed}` }
}

function forced(base: SparseBase, census: Census, format: SparseFormat): SparseChoice {
  const isSmaller = census.formats[format].bytes < census.denseBytes
  const why = `${describe(format, census)}; ${isSmaller ? 'asked for' : 'asked for, but dense is smaller'}`
  return { encoding: isSmaller ? `${base}_${format}` : base, why }
}

/** Dense time divided by sparse time. */
function speedOf(base: SparseBase, format: SparseFormat, census: Census, build: MeasuredBuild): number {
  const { kept, units } = census.formats[format]
  const share = units === 0 ? 1 : kept / units
  return DENSE_COST[build][base] / kernelTime(base, format, share, build)
}

/** Nanoseconds of 8 outputs x 32 inputs. `format`: undefined for dense. `kept`: the share of units kept. */
export function kernelTime(
  base: SparseBase,
  format: SparseFormat | undefined,
  kept: number,
  build: MeasuredBuild = 'relaxed',
): number {
  return format === undefined ? DENSE_COST[build][base] : timeAt(SPARSE_COST[build][base][format], kept)
}

/** Linear between two measured shares. Beyond them, the line through the last two points. */
export function timeAt(curve: Curve, share: number): number {
  const found = curve.findIndex(([at]) => at >= share)
  const after = found === -1 ? curve.length - 1 : Math.max(1, found)
  const [fromShare, fromTime] = curve[after - 1]!
  const [toShare, toTime] = curve[after]!
  return fromTime + ((share - fromShare) / (toShare - fromShare)) * (toTime - fromTime)
}

function describe(format: SparseFormat, census: Census): string {
  const { kept, units, bytes } = census.formats[format]
  if (!Number.isFinite(bytes)) return 'not every output keeps at most 2 of 4 inputs'
  const share = units === 0 ? 100 : (100 * kept) / units
  return `keeps ${share.toFixed(1)} % of the ${STRIP_WRITERS[format].unit} in ${(bytes / census.denseBytes).toFixed(2)} of the bytes`
}
