// Chooses between dense and each sparse format for a matrix, based on measured times, and gives the reason.
import {
  type PackedEncoding,
  type SparseBase,
  type SparseEncoding,
  type SparseFormat,
  sparseParts,
} from '../../abi/encodings.ts'
import type { Curve, MeasuredBuild } from './costs.ts'
import { COSTS_MACHINE, DENSE_COST, SPARSE_COST } from './costs.ts'
import { STRIP_WRITERS } from './writers.ts'

/**
 * `auto`: the fastest encoding. `none`: dense. The name of a format: that format for every matrix that it
 * makes smaller.
 */
export type SparsePolicy = 'auto' | 'none' | SparseFormat

/** Counts for a matrix in one format, over all its parts. */
export interface Counted {
  readonly kept: number
  readonly units: number
  readonly bytes: number
}

export interface Census {
  readonly denseBytes: number
  /** The counts for all encodings of the base. */
  readonly encodings: ReadonlyMap<SparseEncoding, Counted>
}

export interface SparseChoice {
  readonly encoding: PackedEncoding
  /** The reason, as a human-readable sentence. */
  readonly why: string
}

/**
 * In the relaxed build, a format's predicted speed must be at least this multiple of the dense speed, because
 * times vary by a few percent. In the other build, the same file must not be slower than dense.
 */
const MARGIN = 1.03
/** No encoding may take over 6 % more bytes than dense. */
const MAX_BYTES = 1.06

export function chooseSparse(base: SparseBase, census: Census, policy: SparsePolicy): SparseChoice {
  if (policy === 'none') return { encoding: base, why: 'dense was requested' }
  if (policy !== 'auto') return forced(base, census, policy)
  const all = [...census.encodings]
  const ranked = all
    .filter(([, { bytes }]) => bytes <= MAX_BYTES * census.denseBytes)
    .filter(([encoding, counted]) => speedOf(encoding, counted, 'simd128') >= 1)
    .map(([encoding, counted]) => ({ encoding, counted, speed: speedOf(encoding, counted, 'relaxed') }))
    .sort((a, b) => b.speed - a.speed)
  const best = ranked[0]
  if (best === undefined || best.speed < MARGIN) {
    const shares = all.map(([encoding, counted]) => describe(encoding, counted, census)).join(', ')
    return { encoding: base, why: `dense is as fast in some build: ${shares}` }
  }
  const speed = `${best.speed.toFixed(2)} times as fast as dense, according to times measured on ${COSTS_MACHINE}`
  return { encoding: best.encoding, why: `${describe(best.encoding, best.counted, census)}; ${speed}` }
}

function forced(base: SparseBase, census: Census, format: SparseFormat): SparseChoice {
  const found = [...census.encodings].find(([encoding]) => sparseParts(encoding).format === format)
  if (found === undefined) return { encoding: base, why: `${format} is only for 8 bits, and this is ${base}` }
  const [encoding, counted] = found
  const isSmaller = counted.bytes < census.denseBytes
  const asked = isSmaller ? 'requested' : 'requested, but dense is smaller'
  return {
    encoding: isSmaller ? encoding : base,
    why: `${describe(encoding, counted, census)}; ${asked}`,
  }
}

/** Dense time divided by sparse time. */
function speedOf(encoding: SparseEncoding, { kept, units }: Counted, build: MeasuredBuild): number {
  const share = units === 0 ? 1 : kept / units
  return DENSE_COST[build][sparseParts(encoding).base] / timeAt(SPARSE_COST[build][encoding], share)
}

/** Interpolates linearly between two measured shares, and extrapolates from the last two points. */
export function timeAt(curve: Curve, share: number): number {
  const found = curve.findIndex(([at]) => at >= share)
  const after = found === -1 ? curve.length - 1 : Math.max(1, found)
  const [fromShare, fromTime] = curve[after - 1]!
  const [toShare, toTime] = curve[after]!
  return fromTime + ((share - fromShare) / (toShare - fromShare)) * (toTime - fromTime)
}

function describe(encoding: SparseEncoding, { kept, units, bytes }: Counted, census: Census): string {
  if (!Number.isFinite(bytes)) return 'not every output keeps at most 2 of 4 inputs'
  const share = units === 0 ? 100 : (100 * kept) / units
  const { unit } = STRIP_WRITERS[sparseParts(encoding).format]
  return `keeps ${share.toFixed(1)} % of the ${unit} in ${(bytes / census.denseBytes).toFixed(2)} of the bytes`
}
