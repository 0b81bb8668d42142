// TQ2_0: blocks of 256 weights of -1, 0 or 1, in 2 bits each, with one scale.
//
//   bytes 0..31   elements 0..127, each plus 1: byte i has elements i, i + 32, i + 64, i + 96, low bits first
//   bytes 32..63  elements 128..255, likewise
//   bytes 64, 65  f16 scale

import { halfTable } from '../base/half.ts'
import type { CodedGroup, RowViews } from './coded-group.ts'
import { BLOCKS } from './dtypes.ts'

const TQ2 = BLOCKS.TQ2_0

export function readTQ2({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * TQ2.bytes
  const group = index & 7
  scales.fill(halfTable()[u16[at / 2 + 32]!]!)
  const from = at + 32 * (group >>> 2)
  for (let i = 0; i < 32; i++) codes[i] = ((u8[from + i]! >>> (2 * (group & 3))) & 3) - 1
}

/** Writes a row of codes, each plus 1, in blocks with the scale `pattern`, the bits of an f16. */
export function writeTQ2Row(out: Uint8Array, codes: Uint8Array, pattern: number): void {
  out.fill(0)
  for (let i = 0; i < codes.length; i++) {
    const inBlock = i % TQ2.elements
    const at = Math.floor(i / TQ2.elements) * TQ2.bytes + (inBlock & 31) + 32 * (inBlock >>> 7)
    out[at]! |= codes[i]! << (2 * ((inBlock >>> 5) & 3))
  }
  for (let at = 0; at < out.length; at += TQ2.bytes) {
    out[at + 64] = pattern & 255
    out[at + 65] = pattern >> 8
  }
}
