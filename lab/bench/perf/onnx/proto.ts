// Lays out the weights of a graph in data files, and writes its ModelProto, which says where they are.
import { TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import {
  modelBytes,
  type WrittenNode,
  type WrittenTensor,
} from '../../../../src/network/onnx/testing/write-model.ts'

const ELEMENT_BYTES = { f32: 4, f16: 2, u8: 1, i8: 1, i32: 4, i64: 8 } as const
export type ElementType = keyof typeof ELEMENT_BYTES

/** A graph's input or output; a name stands for a symbolic size. */
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

export interface Graph {
  readonly nodes: readonly WrittenNode[]
  readonly inputs: readonly Value[]
  readonly outputs: readonly Value[]
  readonly weights: readonly Weight[]
  /** Constants stored in the graph's file. Default: none. */
  readonly constants?: readonly WrittenTensor[]
}

const ALIGNMENT = 64
const OPSET = 21
const IR_VERSION = 10

export const weightBytes = ({ type, shape }: Weight): number =>
  shape.reduce((product, size) => product * size, 1) * ELEMENT_BYTES[type]

export interface Place {
  /** Index of the data file. */
  readonly file: number
  readonly offset: number
}

/**
 * The location of each weight, in order, and the sizes of the files. A file that has reached `most` bytes
 * gets no more weights: ONNX Runtime Web takes each file as one array, whose size browsers limit.
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

/** File names as exporters write them for a model with several data files. */
export const dataName = (first: string, file: number): string => (file === 0 ? first : `${first}_${file}`)

/** The ModelProto; `dataFile` is the name under which the first data file will be given to the runtime. */
export function modelProto(graph: Graph, dataFile: string): Uint8Array {
  const { nodes, inputs, outputs, weights, constants = [] } = graph
  const { places } = dataLayout(weights)
  const stored = weights.map((weight, index) => {
    const { file, offset } = places[index]!
    const length = `${weightBytes(weight)}`
    return {
      ...written(weight),
      external: { location: dataName(dataFile, file), offset: `${offset}`, length },
    }
  })
  return modelBytes(
    {
      nodes,
      constants: [...constants, ...stored],
      inputs: inputs.map(written<number | string>),
      outputs: outputs.map(written<number | string>),
    },
    OPSET,
    IR_VERSION,
  )
}

const written = <Size>({
  name,
  type,
  shape,
}: {
  name: string
  type: ElementType
  shape: readonly Size[]
}) => ({
  name,
  type: TYPE[type],
  dims: shape,
})
