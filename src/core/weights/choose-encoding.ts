// Chooses the encoding of a weight in memory from the caller's policy, its role, and its dtypes in the file;
// and defines for each dtype the encoding that preserves it and the functions that pack it.

import { type Encoding, groupEncoding } from '../abi/encodings.ts'
import type { StoredRows } from '../formats/dtypes.ts'
import type { DType } from '../formats/tensors.ts'
import { packCoded, packFloats, packHalves, packQuantized } from './pack/pack-panels.ts'
import { packTernary } from './pack/pack-ternary.ts'
import type { WeightPolicy } from './policy.ts'
import {
  relayQ4_0,
  relayQ4_0AsW4m,
  relayQ4_0AsW8,
  relayQ4_1,
  relayQ4_K,
  relayQ5_0,
  relayQ8_0,
} from './relay.ts'

/**
 * Raise it when `auto` chooses another encoding for a file than before, or packs other bytes. Stored packs of
 * other versions are made again.
 */
export const AUTO_VERSION = 1

/** Whole panels of a kernel layout, as views of the same bytes. */
export interface Panels {
  readonly u16: Uint16Array
  readonly u32: Uint32Array
  readonly f32: Float32Array
}

/** Packs `count` rows of `k` elements, which fill whole panels. */
type Packer = (rows: StoredRows, count: number, k: number, out: Panels) => void

export interface Packing {
  /** The encoding in which `auto` keeps this dtype. */
  readonly own: Encoding
  /** Functions that copy codes without changing them, by target encoding. Only scales are rounded, to f16. */
  readonly moves?: Readonly<Partial<Record<Encoding, Packer>>>
  /**
   * Chooses the nearest codes of `w4m_g32`: the levels are spaced so evenly that 4 bits approximate them
   * well.
   */
  readonly nearest?: Packer
  /** Fills whole blocks with zeros. Default: zero bytes represent zeros. */
  readonly clear?: (blocks: Uint8Array) => void
}

const w8Codes: Packer = (rows, count, k, { u32 }) => packCoded(rows, 'w8_g32', count, k, u32)
const W8_CODES: Packing = { own: 'w8_g32', moves: { w8_g32: w8Codes } }
const W4_CODES: Packing = {
  own: 'w4_g32',
  moves: { w4_g32: (rows, count, k, { u32 }) => packCoded(rows, 'w4_g32', count, k, u32) },
}
const W4M_CODES: Packing = {
  own: 'w4m_g32',
  moves: { w4m_g32: (rows, count, k, { u32 }) => packCoded(rows, 'w4m_g32', count, k, u32) },
}
const TERNARY: Packing = {
  own: 'w2_g256',
  moves: { ...W4_CODES.moves, w2_g256: (rows, count, k, { u32 }) => packTernary(rows, count, k, u32) },
}
/** No kernel supports groups of 16, or minimums with 5-bit codes. 8 bits with one scale come closest. */
const ROUNDED_TO_W8: Packing = { own: 'w8_g32' }

const halves: Packer = (rows, count, k, { u16 }) => packHalves(rows, count, k, u16)

export const PACKINGS: Readonly<Record<DType, Packing>> = {
  F32: { own: 'f32' },
  F16: { own: 'f16', moves: { f16: halves } },
  BF16: { own: 'bf16', moves: { bf16: halves } },
  Q8_0: {
    own: 'w8_g32',
    moves: { w8_g32: (rows, count, k, { u32 }) => relayQ8_0(rows, count, k, u32) },
  },
  Q4_0: {
    own: 'w4_g32',
    moves: {
      w4_g32: (rows, count, k, { u32 }) => relayQ4_0(rows, count, k, u32),
      w4m_g32: (rows, count, k, { u32 }) => relayQ4_0AsW4m(rows, count, k, u32),
      w8_g32: (rows, count, k, { u32 }) => relayQ4_0AsW8(rows, count, k, u32),
    },
    // A nibble of 8 represents zero. The scale stays zero too.
    clear: (blocks) => {
      blocks.fill(0x88)
      for (let at = 0; at < blocks.length; at += 18) blocks.fill(0, at, at + 2)
    },
  },
  Q4_1: {
    own: 'w4m_g32',
    moves: { w4m_g32: (rows, count, k, { u32 }) => relayQ4_1(rows, count, k, u32) },
  },
  Q4_K: {
    own: 'w4m_g32',
    moves: { w4m_g32: (rows, count, k, { u32 }) => relayQ4_K(rows, count, k, u32) },
  },
  Q5_0: {
    own: 'w8_g32',
    moves: { w8_g32: (rows, count, k, { u32 }) => relayQ5_0(rows, count, k, u32) },
  },
  IQ3_S: W4M_CODES,
  IQ1_S: W4M_CODES,
  Q1_0: W4_CODES,
  Q2_0: W4_CODES,
  TQ1_0: TERNARY,
  TQ2_0: TERNARY,
  Q8_1: W8_CODES,
  IQ4_NL: W8_CODES,
  IQ4_XS: W8_CODES,
  MXFP4: W8_CODES,
  // 8, 25 and 43 of either sign become 8.5, 25.5 and 42.5.
  IQ2_XXS: {
    own: 'w8_g32',
    moves: { w8_g32: w8Codes },
    nearest: (rows, count, k, { u32 }) =>
      packCoded(rows, 'w4m_g32', count, k, u32, { step: 17, offset: 42.5 }),
  },
  // 4 and every eighth level up to 52 stay the same, and 62 becomes 60.
  IQ3_XXS: {
    own: 'w8_g32',
    moves: { w8_g32: w8Codes },
    nearest: (rows, count, k, { u32 }) => packCoded(rows, 'w4m_g32', count, k, u32, { step: 8, offset: 60 }),
  },
  Q5_1: ROUNDED_TO_W8,
  Q2_K: ROUNDED_TO_W8,
  Q3_K: ROUNDED_TO_W8,
  Q5_K: ROUNDED_TO_W8,
  Q6_K: ROUNDED_TO_W8,
  IQ2_XS: ROUNDED_TO_W8,
  IQ2_S: ROUNDED_TO_W8,
  IQ1_M: ROUNDED_TO_W8,
  NVFP4: ROUNDED_TO_W8,
}

/** Packers that convert the values of any type. */
const FROM_VALUES: Readonly<Partial<Record<Encoding, Packer>>> = {
  f32: (rows, count, k, { f32 }) => packFloats(rows, count, k, f32),
  w8_g32: (rows, count, k, { u32 }) => packQuantized(rows, count, k, 'w8_g32', u32),
  w4_g32: (rows, count, k, { u32 }) => packQuantized(rows, count, k, 'w4_g32', u32),
  w4_channel: (rows, count, k, { u32 }) => packQuantized(rows, count, k, 'w4_channel', u32),
}

/** The function that packs a type in an encoding. Throws RangeError for a pair that is never chosen. */
export function packerOf(dtype: DType, encoding: Encoding): Packer {
  const { moves, nearest } = PACKINGS[dtype]
  const pack = moves?.[encoding] ?? (encoding === 'w4m_g32' ? nearest : undefined) ?? FROM_VALUES[encoding]
  if (pack !== undefined) return pack
  throw new RangeError(`${dtype} rows cannot be packed as ${encoding}; ask chooseEncoding for an encoding`)
}

/**
 * `table`: the embedding, the logits matrix, or both in one. `rows`: a table that may be larger than all
 * other weights and from which a step reads one row per token; one scale per row would be too coarse for it.
 * `vector`: norm weights and biases, always f32.
 */
type WeightRole = 'matrix' | 'table' | 'rows' | 'vector'

const FLOATS: readonly Encoding[] = ['f32', 'f16', 'bf16']

const ownOf = (dtype: DType): Encoding => PACKINGS[dtype].own

export const isFloat = (dtype: DType): boolean => FLOATS.includes(ownOf(dtype))

const FEW_BITS: readonly Encoding[] = ['w4_g32', 'w4m_g32', 'w2_g256']
const hasFewBits = (dtype: DType): boolean => FEW_BITS.includes(ownOf(dtype))

/** The encoding of a weight whose parts have these dtypes. A merged matrix has several parts. */
export function chooseEncoding(policy: WeightPolicy, role: WeightRole, dtypes: readonly DType[]): Encoding {
  if (role === 'vector' || policy === 'f32') return 'f32'
  if (policy === 'auto') return lossless(role, dtypes)
  if (policy === 'w4_channel' && role === 'matrix') return policy
  const isFour = policy !== 'w8' && role !== 'table'
  if (isFour && dtypes.every((dtype) => PACKINGS[dtype].nearest)) return 'w4m_g32'
  const isKept = (dtype: DType) => (isFour ? hasFewBits(dtype) : !isFloat(dtype))
  if (dtypes.every(isKept)) return lossless(role, dtypes)
  return isFour ? 'w4_g32' : 'w8_g32'
}

/**
 * The smallest encoding that stores every part as exactly as `auto` would store it alone. A Q4_0 group is
 * also a w8 group with the same scale, and a w4m group with the minimum -8 scales. Other mixtures become f32.
 */
function lossless(role: WeightRole, dtypes: readonly DType[]): Encoding {
  const [own, ...others] = new Set(dtypes.map(ownOf))
  if (own === undefined) return 'f32'
  if (others.length === 0) return role === 'matrix' ? own : groupEncoding(own)
  if (dtypes.every((dtype) => dtype === 'Q4_0' || dtype === 'Q4_1')) return 'w4m_g32'
  if (dtypes.every((dtype) => dtype === 'Q4_0' || ownOf(dtype) === 'w8_g32')) return 'w8_g32'
  return 'f32'
}
