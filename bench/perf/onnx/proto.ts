// ONNX files. In: a graph of nodes, weights and values. Out: the bytes of its ModelProto; weights lie in
// files of their own. Field numbers: onnx.proto of IR version 10.
import protobuf, { type Writer } from 'protobufjs/minimal.js'

/** Element types by their numbers in TensorProto. */
const ELEMENT_TYPES = { f32: 1, u8: 2, i8: 3, i32: 6, i64: 7, f16: 10 } as const
const ELEMENT_BYTES = { f32: 4, f16: 2, u8: 1, i8: 1, i32: 4, i64: 8 } as const
export type ElementType = keyof typeof ELEMENT_TYPES

export type Attribute =
  | readonly ['int', number]
  | readonly ['float', number]
  | readonly ['ints', readonly number[]]

export interface Node {
  readonly op: string
  /** Absent: ONNX's own. */
  readonly domain?: 'com.microsoft' | undefined
  /** '' where an optional input is left out. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, Attribute>> | undefined
}

/** A graph's input or output; a name stands for a size that runs choose. */
export interface Value {
  readonly name: string
  readonly type: ElementType
  readonly shape: readonly (number | string)[]
}

export interface Weight {
  readonly name: string
  readonly type: ElementType
  readonly shape: readonly number[]
}

/** A constant that lies in the file of the graph. */
export interface InlineConstant extends Weight {
  readonly bytes: Uint8Array
}

export interface Graph {
  readonly name: string
  readonly nodes: readonly Node[]
  readonly inputs: readonly Value[]
  readonly outputs: readonly Value[]
  readonly weights: readonly Weight[]
  /** Default: none. */
  readonly constants?: readonly InlineConstant[]
}

const ALIGNMENT = 64
const OPSETS = { '': 21, 'com.microsoft': 1 } as const
const ATTRIBUTE_TYPES = { float: 1, int: 2, ints: 7 } as const
const EXTERNAL = 1

export const weightBytes = ({ type, shape }: Weight): number =>
  shape.reduce((product, size) => product * size, 1) * ELEMENT_BYTES[type]

export interface Place {
  /** Which of the data files. */
  readonly file: number
  readonly offset: number
}

/**
 * Where each weight lies, in their order, and the sizes of the files. A file that has `most` bytes gets no
 * more weights: ONNX Runtime Web takes each file as one array, and browsers limit those.
 */
export function dataLayout(
  weights: readonly Weight[],
  most = 2 ** 30,
): { places: readonly Place[]; sizes: readonly number[] } {
  const sizes = [0]
  const places = weights.map((weight) => {
    const bytes = Math.ceil(weightBytes(weight) / ALIGNMENT) * ALIGNMENT
    const full = sizes.at(-1)!
    if (full > 0 && full + bytes > most) sizes.push(0)
    const place = { file: sizes.length - 1, offset: sizes.at(-1)! }
    sizes[place.file] = place.offset + bytes
    return place
  })
  return { places, sizes }
}

/** As exporters name the files of a model that has several. */
export const dataName = (first: string, file: number): string => (file === 0 ? first : `${first}_${file}`)

/** The ModelProto; `dataFile` is the name under which the first data file will be given to the runtime. */
export function modelProto(graph: Graph, dataFile: string): Uint8Array {
  const writer = protobuf.Writer.create()
  writer.uint32(1 << 3).int64(10)
  writer.uint32((2 << 3) | 2).string('halfbyte-perf')
  message(writer, 7, (to) => graphProto(to, graph, dataFile))
  for (const [domain, version] of Object.entries(OPSETS)) {
    message(writer, 8, (to) => {
      text(to, 1, domain)
      to.uint32(2 << 3).int64(version)
    })
  }
  return writer.finish()
}

function graphProto(to: Writer, graph: Graph, dataFile: string): void {
  for (const node of graph.nodes) message(to, 1, (inner) => nodeProto(inner, node))
  text(to, 2, graph.name)
  for (const constant of graph.constants ?? [])
    message(to, 5, (inner) => {
      tensorHead(inner, constant)
      inner.uint32((9 << 3) | 2).bytes(constant.bytes)
    })
  const { places } = dataLayout(graph.weights)
  for (const [index, weight] of graph.weights.entries()) {
    const { file, offset } = places[index]!
    message(to, 5, (inner) => tensorProto(inner, weight, dataName(dataFile, file), offset))
  }
  for (const value of graph.inputs) message(to, 11, (inner) => valueProto(inner, value))
  for (const value of graph.outputs) message(to, 12, (inner) => valueProto(inner, value))
}

function nodeProto(to: Writer, { op, domain, inputs, outputs, attributes = {} }: Node): void {
  for (const name of inputs) text(to, 1, name)
  for (const name of outputs) text(to, 2, name)
  text(to, 3, outputs.find((name) => name !== '') ?? op)
  text(to, 4, op)
  for (const [name, [kind, value]] of Object.entries(attributes)) {
    message(to, 5, (inner) => {
      text(inner, 1, name)
      if (kind === 'float') inner.uint32((2 << 3) | 5).float(value)
      else if (kind === 'int') inner.uint32(3 << 3).int64(value)
      else for (const one of value) inner.uint32(8 << 3).int64(one)
      inner.uint32(20 << 3).int32(ATTRIBUTE_TYPES[kind])
    })
  }
  if (domain !== undefined) text(to, 7, domain)
}

function tensorHead(to: Writer, { name, type, shape }: Weight): void {
  for (const size of shape) to.uint32(1 << 3).int64(size)
  to.uint32(2 << 3).int32(ELEMENT_TYPES[type])
  text(to, 8, name)
}

function tensorProto(to: Writer, weight: Weight, dataFile: string, offset: number): void {
  tensorHead(to, weight)
  const place = { location: dataFile, offset: `${offset}`, length: `${weightBytes(weight)}` }
  for (const [key, value] of Object.entries(place)) {
    message(to, 13, (inner) => {
      text(inner, 1, key)
      text(inner, 2, value)
    })
  }
  to.uint32(14 << 3).int32(EXTERNAL)
}

function valueProto(to: Writer, { name, type, shape }: Value): void {
  text(to, 1, name)
  message(to, 2, (typeProto) =>
    message(typeProto, 1, (tensor) => {
      tensor.uint32(1 << 3).int32(ELEMENT_TYPES[type])
      message(tensor, 2, (dims) => {
        for (const size of shape) {
          message(dims, 1, (dim) => {
            if (typeof size === 'number') dim.uint32(1 << 3).int64(size)
            else text(dim, 2, size)
          })
        }
      })
    }),
  )
}

function message(to: Writer, field: number, write: (inner: Writer) => void): void {
  to.uint32((field << 3) | 2).fork()
  write(to)
  to.ldelim()
}

function text(to: Writer, field: number, value: string): void {
  to.uint32((field << 3) | 2).string(value)
}
