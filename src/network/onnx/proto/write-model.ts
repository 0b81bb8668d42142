// Writes nodes, constants and values as an ONNX file: the bytes of a ModelProto.
import { floatToHalf } from '../../../core/base/half.ts'
import type { Attribute, Constant, Graph, Node, Type } from '../ir/graph.ts'
import { isMiniFloat, miniFloatPattern } from '../ir/mini-floats.ts'
import { BITS, DTYPE_NUMBERS, type DType, STRING, type Tensor } from '../ir/tensor.ts'
import { textsOf } from '../ir/values.ts'
import { ProtoWriter } from './proto-writer.ts'

export interface WrittenModel {
  /** All nodes in one domain must have the same version. */
  readonly nodes: readonly Node[]
  readonly constants: ReadonlyMap<string, Constant>
  /** The type of each input. */
  readonly inputs: ReadonlyMap<string, Type>
  readonly outputs: readonly string[]
}

/** The first version that supports 4-bit types. */
const IR_VERSION = 10

/** `bytesOf`: the little-endian elements of a constant. */
export function writeModel(
  { nodes, constants, inputs, outputs }: WrittenModel,
  bytesOf: (constant: Constant) => Uint8Array,
): Uint8Array {
  const to = new ProtoWriter()
  to.whole(1, IR_VERSION)
  to.message(7, (graph) => {
    for (const node of nodes) graph.message(1, (each) => writeNode(node, each))
    graph.text(2, 'part')
    for (const [name, constant] of constants)
      graph.message(5, (each) => writeTensor(name, constant, bytesOf(constant), each))
    for (const [name, type] of inputs) graph.message(11, (each) => writeValue(name, type, each))
    for (const name of outputs) graph.message(12, (each) => writeValue(name, undefined, each))
  })
  const opsets = new Map([['', 1], ...nodes.flatMap(opsetsOf)])
  for (const [domain, version] of opsets)
    to.message(8, (each) => {
      each.text(1, domain)
      each.whole(2, version)
    })
  return to.finish()
}

function opsetsOf({ domain, version, attributes }: Node): (readonly [string, number])[] {
  const inner = [...attributes.values()].flatMap((attribute) =>
    attribute.kind === 'graph' ? attribute.value.nodes.flatMap(opsetsOf) : [],
  )
  return [...inner, [domain, version]]
}

function writeNode({ name, op, domain, inputs, outputs, attributes }: Node, to: ProtoWriter): void {
  for (const each of inputs) to.text(1, each)
  for (const each of outputs) to.text(2, each)
  to.text(3, name)
  to.text(4, op)
  for (const [key, attribute] of attributes)
    to.message(5, (each) => {
      each.text(1, key)
      each.whole(20, writeAttribute(attribute, each))
    })
  to.text(7, domain)
}

/** Writes the field with its value. Returns the AttributeProto.AttributeType number. */
function writeAttribute({ kind, value }: Attribute, to: ProtoWriter): number {
  switch (kind) {
    case 'float':
      to.float(2, value)
      return 1
    case 'int':
      to.whole(3, value)
      return 2
    case 'string':
      to.text(4, value)
      return 3
    case 'tensor':
      to.message(5, (each) => writeTensor('', value, tensorBytes(value), each))
      return 4
    case 'graph':
      to.message(6, (each) => writeInnerGraph(value, each))
      return 5
    case 'floats':
      for (const each of value) to.float(7, each)
      return 6
    case 'ints':
      for (const each of value) to.whole(8, each)
      return 7
    case 'strings':
      for (const each of value) to.text(9, each)
      return 8
    default:
      return kind satisfies never
  }
}

/** Constants of nested graphs are in memory. */
function writeInnerGraph({ name, nodes, constants, inputs, outputs }: Graph, to: ProtoWriter): void {
  for (const node of nodes) to.message(1, (each) => writeNode(node, each))
  to.text(2, name || 'inner')
  for (const [key, constant] of constants)
    to.message(5, (each) => writeTensor(key, constant, tensorBytes(constant as Tensor), each))
  for (const input of inputs) to.message(11, (each) => writeValue(input.name, input.type, each))
  for (const output of outputs) to.message(12, (each) => writeValue(output, undefined, each))
}

function writeTensor(name: string, constant: Constant, bytes: Uint8Array, to: ProtoWriter): void {
  const { dtype, dims } = constant
  for (const size of dims) to.whole(1, size)
  to.whole(2, numberOf(dtype))
  if (dtype === 'string') for (const text of textsOf(constant as Tensor)) to.text(6, text)
  to.text(8, name)
  if (dtype !== 'string') to.bytes(9, bytes)
}

/** If the type is missing, the reader infers it. */
function writeValue(name: string, type: Type | undefined, to: ProtoWriter): void {
  to.text(1, name)
  if (type === undefined) return
  const { dtype, dims } = type
  to.message(2, (each) =>
    each.message(1, (tensor) => {
      tensor.whole(1, numberOf(dtype))
      if (dims === undefined) return
      tensor.message(2, (shape) => {
        for (const size of dims)
          shape.message(1, (dim) => (typeof size === 'number' ? dim.whole(1, size) : dim.text(2, size)))
      })
    }),
  )
}

const numberOf = (dtype: DType): number => DTYPE_NUMBERS.get(dtype) ?? STRING

/** The elements as stored in files, little-endian. */
export function tensorBytes({ dtype, data }: Tensor): Uint8Array {
  if (dtype === 'f16') return new Uint8Array(Uint16Array.from(data as Float32Array, floatToHalf).buffer)
  if (dtype === 'bf16') {
    const words = new Uint32Array(Float32Array.from(data as Float32Array).buffer)
    return new Uint8Array(Uint16Array.from(words, (word) => word >>> 16).buffer)
  }
  const bits = BITS[dtype]
  const patternOf = isMiniFloat(dtype)
    ? (value: number) => miniFloatPattern(dtype, value)
    : (value: number) => value & (2 ** bits - 1)
  if (bits === 8 && isMiniFloat(dtype)) return Uint8Array.from(data as Float32Array, patternOf)
  if (bits >= 8) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  // The first of the elements in a byte has the low bits.
  const made = new Uint8Array(Math.ceil((data.length * bits) / 8))
  for (const [at, value] of (data as Int8Array).entries())
    made[Math.floor((at * bits) / 8)]! |= patternOf(value) << ((at * bits) % 8)
  return made
}
