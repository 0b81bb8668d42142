// ONNX files for tests. In: nodes, constants and values as objects. Out: the bytes of a ModelProto.
import { PbfWriter } from 'pbf'

export interface WrittenNode {
  readonly op: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, WrittenAttribute>>
}
/** A whole number, a tensor, or a graph. */
type WrittenAttribute = number | WrittenTensor | WrittenGraph
export interface WrittenTensor {
  readonly name: string
  readonly type?: number
  readonly dims: readonly number[]
  readonly raw?: Uint8Array
  readonly external?: Readonly<Record<string, string>>
}
export interface WrittenGraph {
  readonly nodes: readonly WrittenNode[]
  readonly constants?: readonly WrittenTensor[]
  readonly inputs?: readonly string[]
  readonly outputs?: readonly string[]
}

/** Inputs are f32 of shape [2]. */
export function modelBytes(graph: WrittenGraph, opset = 17): Uint8Array {
  const to = new PbfWriter()
  to.writeVarintField(1, 8)
  to.writeMessage(7, writeGraph, graph)
  to.writeMessage(8, (version: number, inner: PbfWriter) => inner.writeVarintField(2, version), opset)
  return to.finish()
}

function writeGraph({ nodes, constants = [], inputs = [], outputs = [] }: WrittenGraph, to: PbfWriter): void {
  for (const node of nodes) to.writeMessage(1, writeNode, node)
  to.writeStringField(2, 'main')
  for (const constant of constants) to.writeMessage(5, writeTensor, constant)
  for (const name of inputs) to.writeMessage(11, writeInput, name)
  for (const name of outputs) to.writeMessage(12, writeInput, name)
}

function writeNode({ op, inputs, outputs, attributes = {} }: WrittenNode, to: PbfWriter): void {
  for (const name of inputs) to.writeStringField(1, name)
  for (const name of outputs) to.writeStringField(2, name)
  to.writeStringField(4, op)
  for (const [name, value] of Object.entries(attributes)) {
    to.writeMessage(5, writeAttribute, [name, value] as const)
  }
}

function writeAttribute([name, value]: readonly [string, WrittenAttribute], to: PbfWriter): void {
  to.writeStringField(1, name)
  if (typeof value === 'number') to.writeVarintField(3, value)
  else if ('dims' in value) to.writeMessage(5, writeTensor, value)
  else to.writeMessage(6, writeGraph, value)
  to.writeVarintField(20, typeof value === 'number' ? 2 : 'dims' in value ? 4 : 5)
}

export function writeTensor({ name, type = 1, dims, raw, external }: WrittenTensor, to: PbfWriter): void {
  for (const size of dims) to.writeVarintField(1, size)
  to.writeVarintField(2, type)
  to.writeStringField(8, name)
  if (raw !== undefined) to.writeBytesField(9, raw)
  for (const entry of Object.entries(external ?? {})) {
    to.writeMessage(
      13,
      ([key, value]: readonly [string, string], inner: PbfWriter) => {
        inner.writeStringField(1, key)
        inner.writeStringField(2, value)
      },
      entry,
    )
  }
  if (external !== undefined) to.writeVarintField(14, 1)
}

function writeInput(name: string, to: PbfWriter): void {
  to.writeStringField(1, name)
  to.writeMessage(2, writeType, 2)
}

function writeType(size: number, to: PbfWriter): void {
  to.writeMessage(
    1,
    (count: number, tensor: PbfWriter) => {
      tensor.writeVarintField(1, 1)
      tensor.writeMessage(
        2,
        (dim: number, shape: PbfWriter) =>
          shape.writeMessage(1, (value: number, inner: PbfWriter) => inner.writeVarintField(1, value), dim),
        count,
      )
    },
    size,
  )
}
