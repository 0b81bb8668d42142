// Writes ONNX files for tests and benches: the bytes of a ModelProto from nodes, constants and values.
import { PbfWriter } from 'pbf'

export interface WrittenNode {
  readonly op: string
  /** Default: ONNX's own domain. */
  readonly domain?: string | undefined
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, WrittenAttribute>>
}
/** An integer, a float, a string, integers, floats, strings, a tensor, or a graph. */
export type WrittenAttribute =
  | number
  | { readonly float: number }
  | { readonly text: string }
  | { readonly ints: readonly number[] }
  | { readonly floats: readonly number[] }
  | { readonly texts: readonly string[] }
  | WrittenTensor
  | WrittenGraph
/** A bare name means f32 of shape [2]; without dims, the shape is omitted. */
export interface WrittenValue {
  readonly name: string
  readonly type: number
  readonly dims?: readonly (number | string)[] | undefined
  /** A sequence of such tensors, an optional tensor, or an optional sequence. Default: a tensor. */
  readonly form?: 'sequence' | 'optional' | 'optional sequence' | undefined
}
export interface WrittenTensor {
  readonly name: string
  readonly type?: number
  readonly dims: readonly number[]
  readonly raw?: Uint8Array
  readonly strings?: readonly string[]
  readonly external?: Readonly<Record<string, string>>
}
export interface WrittenGraph {
  readonly nodes: readonly WrittenNode[]
  readonly constants?: readonly WrittenTensor[]
  readonly inputs?: readonly (string | WrittenValue)[]
  readonly outputs?: readonly (string | WrittenValue)[]
}

/** `irVersion`: 4-bit types need at least 10. `metadata`: the file's metadata_props. */
export function modelBytes(
  graph: WrittenGraph,
  opset = 17,
  irVersion = 8,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  const to = new PbfWriter()
  to.writeVarintField(1, irVersion)
  to.writeMessage(7, writeGraph, graph)
  const domains = new Set(graph.nodes.flatMap(({ domain }) => (domain === undefined ? [] : [domain])))
  for (const [domain, version] of [['', opset] as const, ...[...domains].map((name) => [name, 1] as const)])
    to.writeMessage(8, writeOpset, { domain, version })
  for (const entry of Object.entries(metadata)) to.writeMessage(14, writeEntry, entry)
  return to.finish()
}

function writeOpset({ domain, version }: { domain: string; version: number }, to: PbfWriter): void {
  if (domain !== '') to.writeStringField(1, domain)
  to.writeVarintField(2, version)
}

function writeGraph({ nodes, constants = [], inputs = [], outputs = [] }: WrittenGraph, to: PbfWriter): void {
  for (const node of nodes) to.writeMessage(1, writeNode, node)
  to.writeStringField(2, 'main')
  for (const constant of constants) to.writeMessage(5, writeTensor, constant)
  for (const input of inputs) to.writeMessage(11, writeValue, input)
  for (const output of outputs) to.writeMessage(12, writeValue, output)
}

function writeNode({ op, domain, inputs, outputs, attributes = {} }: WrittenNode, to: PbfWriter): void {
  for (const name of inputs) to.writeStringField(1, name)
  for (const name of outputs) to.writeStringField(2, name)
  to.writeStringField(4, op)
  for (const [name, value] of Object.entries(attributes)) {
    to.writeMessage(5, writeAttribute, [name, value] as const)
  }
  if (domain !== undefined) to.writeStringField(7, domain)
}

function writeAttribute([name, value]: readonly [string, WrittenAttribute], to: PbfWriter): void {
  to.writeStringField(1, name)
  const kind = kindOf(value)
  if (typeof value === 'number') to.writeVarintField(3, value)
  else if ('float' in value) to.writeFloatField(2, value.float)
  else if ('text' in value) to.writeStringField(4, value.text)
  else if ('ints' in value) for (const each of value.ints) to.writeVarintField(8, each)
  else if ('floats' in value) for (const each of value.floats) to.writeFloatField(7, each)
  else if ('texts' in value) for (const each of value.texts) to.writeStringField(9, each)
  else if ('dims' in value) to.writeMessage(5, writeTensor, value)
  else to.writeMessage(6, writeGraph, value)
  to.writeVarintField(20, kind)
}

/** The number of AttributeProto.AttributeType. */
function kindOf(value: WrittenAttribute): number {
  if (typeof value === 'number') return 2
  if ('float' in value) return 1
  if ('text' in value) return 3
  if ('ints' in value) return 7
  if ('floats' in value) return 6
  if ('texts' in value) return 8
  return 'dims' in value ? 4 : 5
}

export function writeTensor(
  { name, type = 1, dims, raw, strings = [], external }: WrittenTensor,
  to: PbfWriter,
): void {
  for (const size of dims) to.writeVarintField(1, size)
  to.writeVarintField(2, type)
  for (const each of strings) to.writeStringField(6, each)
  to.writeStringField(8, name)
  if (raw !== undefined) to.writeBytesField(9, raw)
  for (const entry of Object.entries(external ?? {})) to.writeMessage(13, writeEntry, entry)
  if (external !== undefined) to.writeVarintField(14, 1)
}

function writeEntry([key, value]: readonly [string, string], to: PbfWriter): void {
  to.writeStringField(1, key)
  to.writeStringField(2, value)
}

function writeValue(value: string | WrittenValue, to: PbfWriter): void {
  const { name, form, ...element } =
    typeof value === 'string' ? { name: value, type: 1, dims: [2], form: undefined } : value
  to.writeStringField(1, name)
  to.writeMessage(2, writeForm, { form, element })
}

type Element = Pick<WrittenValue, 'type' | 'dims'>

/** A TypeProto, in the type that encloses it. */
function writeForm({ form, element }: { form: WrittenValue['form']; element: Element }, to: PbfWriter): void {
  const within = (field: number, inner: WrittenValue['form']) =>
    to.writeMessage(
      field,
      (_: undefined, outer: PbfWriter) => outer.writeMessage(1, writeForm, { form: inner, element }),
      undefined,
    )
  if (form === 'sequence') within(4, undefined)
  else if (form === 'optional') within(9, undefined)
  else if (form === 'optional sequence') within(9, 'sequence')
  else writeType(element, to)
}

function writeType({ type, dims }: Element, to: PbfWriter): void {
  to.writeMessage(
    1,
    (_: undefined, tensor: PbfWriter) => {
      tensor.writeVarintField(1, type)
      if (dims !== undefined) tensor.writeMessage(2, writeShape, dims)
    },
    undefined,
  )
}

function writeShape(dims: readonly (number | string)[], to: PbfWriter): void {
  for (const size of dims) {
    to.writeMessage(
      1,
      (dim: number | string, inner: PbfWriter) => {
        if (typeof dim === 'number') inner.writeVarintField(1, dim)
        else inner.writeStringField(2, dim)
      },
      size,
    )
  }
}
