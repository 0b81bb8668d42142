// Stored keys and values. In: a machine, a block, a format. Out: what the codes of one position stand for, read as abi.h draws them.
import type { KvFormat } from '../../src/graph/ir.ts'
import { KV_FORMAT } from '../../src/graph/op-codes.ts'
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

const signed = (byte: number): number => (byte << 24) >> 24

/** e4m3 without its NaN. */
export function fp8Value(code: number): number {
  const [exponent, mantissa] = [(code >> 3) & 15, code & 7]
  const size = exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10)
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
