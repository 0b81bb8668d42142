// Reads the values of one stored position's codes, as abi.h describes them.

import { KV_FORMAT } from '../../src/core/abi/constants.ts'
import type { KvFormat } from '../../src/core/graph/ir.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import type { Machine } from './machine.ts'

export interface KvShape {
  readonly kvHeads: number
  readonly dim: number
  readonly format: KvFormat
}

export const FORMATS: readonly KvFormat[] = [
  { k: 'f32', v: 'f32' },
  { k: 'int8', v: 'f32' },
  { k: 'f32', v: 'int8' },
  { k: 'int8', v: 'int8' },
  { k: 'f32', v: 'fp8' },
  { k: 'int8', v: 'fp8' },
]

/** Fields of an op record. */
export const formatFields = ({ k, v }: KvFormat) => ({ k_format: KV_FORMAT[k], v_format: KV_FORMAT[v] })

/** Bytes of one KV head's keys and values. */
export const keyBytes = ({ dim, format }: KvShape): number =>
  format.k === 'f32' ? 256 * dim : 64 * dim + 3 * 256
export const valueBytes = ({ dim, format }: KvShape): number =>
  format.v === 'f32' ? 256 * dim : 64 * dim + (format.v === 'int8' ? 2 : 1) * 256

/**
 * Fills one layer's keys and values of a block with realistic numbers: any code, scales of ordinary size.
 */
export function fillBlock(
  machine: Machine,
  shape: KvShape,
  at: { k: number; v: number },
  seed: number,
): void {
  const { kvHeads, dim, format } = shape
  const random = randomFrom(seed)
  const fill = (part: number, isFloat: boolean, words: number) => {
    for (let i = 0; isFloat && i < 64 * dim; i++) machine.f32[part / 4 + i] = 2 * random() - 1
    for (let i = 0; !isFloat && i < 64 * dim; i++) machine.u8[part + i] = random() * 256
    for (let p = 0; words > 0 && p < 64; p++) machine.f32[(part + 64 * dim) / 4 + p] = (1 + random()) / 200
    for (let p = 64; p < 64 * Math.min(words, 2); p++)
      machine.f32[(part + 64 * dim) / 4 + p] = random() / 10 - 0.05
  }
  for (let head = 0; head < kvHeads; head++) {
    const k = at.k + head * keyBytes(shape)
    fill(k, format.k === 'f32', format.k === 'f32' ? 0 : 3)
    for (let p = 0; format.k === 'int8' && p < 64; p++) {
      const { codes } = storedKey(machine, shape, at.k, head, p)
      machine.i32[(k + 64 * dim) / 4 + 128 + p] = -64 * codes.reduce((sum, code) => sum + code, 0)
    }
    fill(at.v + head * valueBytes(shape), format.v === 'f32', { f32: 0, int8: 2, fp8: 1 }[format.v])
  }
}

const signed = (byte: number): number => (byte << 24) >> 24

/** e3m4, in which every code is a number. */
export function fp8Value(code: number): number {
  const exponent = (code >> 4) & 7
  const mantissa = code & 15
  const size = exponent === 0 ? mantissa * 2 ** -6 : (16 + mantissa) * 2 ** (exponent - 7)
  return code & 0x80 ? -size : size
}

/** The key of one position, and the scale of its codes: 0 for f32. `at`: the layer's keys in the block. */
export function storedKey(machine: Machine, shape: KvShape, at: number, head: number, p: number) {
  const { dim, format } = shape
  const part = at + head * keyBytes(shape)
  const words = (part + 64 * dim) / 4
  const scale = format.k === 'f32' ? 0 : machine.f32[words + p]!
  const sum = format.k === 'f32' ? 0 : machine.i32[words + 128 + p]!
  const codes: number[] = []
  const values = Array.from({ length: dim }, (_, d) => {
    if (format.k === 'f32') return machine.f32[part / 4 + ((p >> 2) * dim + d) * 4 + (p & 3)]!
    const code = signed(machine.u8[part + ((p >> 2) * (dim / 4) + (d >> 2)) * 16 + (p & 3) * 4 + (d & 3)]!)
    codes.push(code)
    return scale * code + machine.f32[words + 64 + p]!
  })
  return { values, scale, sum, codes }
}

export function storedValue(machine: Machine, shape: KvShape, at: number, head: number, p: number) {
  const { dim, format } = shape
  const part = at + head * valueBytes(shape)
  const words = (part + 64 * dim) / 4
  const scale = format.v === 'f32' ? 0 : machine.f32[words + p]!
  const values = Array.from({ length: dim }, (_, d) => {
    const lane = ((d >> 2) * 64 + p) * 4 + (d & 3)
    if (format.v === 'f32') return machine.f32[part / 4 + lane]!
    if (format.v === 'fp8') return scale * fp8Value(machine.u8[part + lane]!)
    const code = signed(machine.u8[part + ((d >> 2) * 16 + (p >> 2)) * 16 + (d & 3) * 4 + (p & 3)]!)
    return scale * code + machine.f32[words + 64 + p]!
  })
  return { values, scale }
}
