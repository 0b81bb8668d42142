// Stand-ins. In: a matrix's shape, a format, the share of weights to keep. Out: a tensor of random codes that
// costs what a pruned matrix costs.
import { GROUP_SIZE, matrixBytes, panelBytes, type SparseBase } from '../../abi/encodings.ts'
import { bufferSource } from '../../base/bytes.ts'
import { DTYPE_OF } from '../../formats/hbm/hbm.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import type { CostFormat } from '../../weights/sparse/cost-table.ts'
import { STRIP_PANELS } from '../../weights/sparse/panels.ts'
import { sparseSlot } from '../../weights/sparse/slot.ts'

const SCALE_BYTES = 16
/** Inputs of a vector. */
const QUAD = 4

/** Seeded: numbers from 0 to 1. */
function randomFrom(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** `format`: undefined for a dense matrix. */
export function standIn(
  [n, k]: readonly [number, number],
  base: SparseBase,
  format: CostFormat | undefined,
  kept: number,
): TensorInfo {
  const random = randomFrom(n * 31 + k)
  const panels = randomPanels(base, n, k, random)
  if (format !== undefined) dropUnits(base, panels, k, format, kept, random)
  const bytes = format === undefined ? panels : sparseSlot(base, format, panels, k)
  const packed = format === undefined ? base : (`${base}_${format}` as const)
  const place = { source: bufferSource('stand-in', bytes), offset: 0, byteLength: bytes.byteLength }
  return { name: 'stand-in', dtype: DTYPE_OF[packed], shape: [n, k], packed, ...place }
}

/** Codes of all values but that of zero; scales with which rows of a norm stay of ordinary size. */
function randomPanels(base: SparseBase, n: number, k: number, random: () => number): Uint8Array {
  const bytes = new Uint8Array(matrixBytes(base, n, k))
  const block = panelBytes(base, GROUP_SIZE)
  for (let at = 0; at < bytes.length; at++) {
    const value = Math.floor(random() * 256)
    bytes[at] = base === 'w8_g32' && value === 128 ? 129 : value
  }
  // f16 from 2^-3 on, times 2^8: scales near 0.0005 for 8 bits; 16 times as much for 4.
  const exponent = base === 'w8_g32' ? 0x30 : 0x3c
  for (let at = 0; at < bytes.length; at += block) {
    for (let i = 1; i < SCALE_BYTES; i += 2) bytes[at + i] = exponent | (bytes[at + i]! & 3)
  }
  return bytes
}

/** Sets units of the format to the code of zero, each with the same chance. */
function dropUnits(
  base: SparseBase,
  panels: Uint8Array,
  k: number,
  format: CostFormat,
  kept: number,
  random: () => number,
): void {
  const zero = base === 'w4_g32' ? 0x88 : 0x80
  const block = panelBytes(base, GROUP_SIZE)
  const vector = (block - SCALE_BYTES) / (GROUP_SIZE / QUAD)
  const panel = panelBytes(base, k)
  const strip = panel * STRIP_PANELS
  for (let first = 0; first < panels.length; first += strip) {
    for (let group = first; group < first + panel; group += block) {
      for (let quad = group + SCALE_BYTES; quad < group + block; quad += vector) {
        const panelsOf = [0, 1, 2, 3].map((index) => quad + index * panel)
        if (format === 'sb84') {
          for (const at of panelsOf) if (random() >= kept) panels.fill(zero, at, at + vector)
          continue
        }
        for (let input = 0; input < QUAD; input++) {
          if (random() < kept) continue
          for (const at of panelsOf) {
            for (let lane = input; lane < vector; lane += QUAD) panels[at + lane] = zero
          }
        }
      }
    }
  }
}
