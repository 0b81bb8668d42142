// Messages of ONNX as lists of fields. In: the bytes of a message. Out: its fields, which can be replaced,
// and the bytes of a message built from fields.
import { PbfWriter } from 'pbf'
import { fieldsOf } from './mutate-proto.ts'

/** A field of a message: its number, and its value without tag and length. */
export interface Part {
  readonly number: number
  readonly type: number
  readonly value: Uint8Array
}

/** The type of fields that have a length. */
export const BYTES = 2
/** Number of the graph's field in ModelProto, then of fields in GraphProto, NodeProto and TensorProto. */
export const GRAPH = 7
export const NODE = 1
export const NAME = 2
export const TENSOR = 5
export const INPUT_VALUE = 11
export const OUTPUT_VALUE = 12
export const INPUT = 1
export const OUTPUT = 2
export const NODE_NAME = 3
export const OP = 4
export const ATTRIBUTE = 5
export const TENSOR_TYPE = 2
export const TENSOR_NAME = 8
export const RAW = 9

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function partsOf(message: Uint8Array): Part[] {
  return (fieldsOf(message) ?? []).map(({ number, type, from, end }) => ({
    number,
    type,
    value: message.subarray(from, end),
  }))
}

/** Maximum bytes of a tag and a length. */
const HEAD_BYTES = 20

export function messageOf(parts: readonly Part[]): Uint8Array {
  const most = parts.reduce((sum, { value }) => sum + HEAD_BYTES + value.length, 0)
  const to = new PbfWriter(new Uint8Array(most))
  for (const { number, type, value } of parts) {
    to.writeTag(number, type)
    if (type === BYTES) to.writeVarint(value.length)
    to.buf.set(value, to.pos)
    to.pos += value.length
  }
  return to.finish().slice()
}

export const part = (number: number, value: Uint8Array | string): Part => ({
  number,
  type: BYTES,
  value: typeof value === 'string' ? encoder.encode(value) : value,
})
export const varint = (number: number, value: number): Part => {
  const to = new PbfWriter()
  to.writeVarint(value)
  return { number, type: 0, value: to.finish() }
}
export const textOf = ({ value }: Part): string => decoder.decode(value)
export const textsOf = (parts: readonly Part[], number: number): string[] =>
  parts.filter((each) => each.number === number).map(textOf)
