// Makes inputs for any graph: ids, masks and numbers, by the names and dtypes of its inputs.
import type { NetworkTensor } from '../../../src/network/helpers/tensors.ts'
import type { Graph } from '../../../src/network/onnx/ir/graph.ts'
import { countOf, type DType, FLOATS, tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { Random } from '../../../test/helpers/random.ts'

interface Taken {
  readonly name: string
  readonly dtype: string | undefined
  readonly dims: readonly (number | string)[]
}

/** Open axes in the order in which they appear: for texts, the batch and the tokens. */
export const openAxes = (inputs: readonly Taken[]): readonly string[] => [
  ...new Set(inputs.flatMap(({ dims }) => dims.filter((size) => typeof size === 'string'))),
]

/** Number of rows of the smallest table that the graph's ids index, at most `most`. */
export function vocabularyOf({ inputs, nodes, constants }: Graph, most: number): number {
  const ids = new Set(inputs.filter(({ type }) => type?.dtype === 'i64').map(({ name }) => name))
  const rows = nodes
    .filter(({ op, inputs: [, index = ''] }) => op === 'Gather' && ids.has(index))
    .flatMap(({ inputs: [table = ''] }) => constants.get(table)?.dims[0] ?? [])
  // Token types have tables of two rows; here all types are 0.
  return Math.min(most, ...rows.filter((count) => count > 2))
}

/**
 * `sizes`: the sizes of the open axes. Ids are below `vocabulary`, masks are 1, types are 0, floats are from
 * -1 to 1.
 */
export function drawnInputs(
  inputs: readonly Taken[],
  sizes: readonly number[],
  vocabulary: number,
): Record<string, NetworkTensor> {
  const random = new Random(7)
  const axes = openAxes(inputs)
  return Object.fromEntries(
    inputs.map(({ name, dtype, dims }) => {
      const own = dims.map((size) => (typeof size === 'number' ? size : sizes[axes.indexOf(size)]!))
      const length = own.reduce((product, size) => product * size, 1)
      const draw = (value: () => number) => Float64Array.from({ length }, value)
      if (dtype === 'f32')
        return [
          name,
          tensorOf(
            'f32',
            own,
            draw(() => random.signed()),
          ),
        ]
      if (dtype !== 'i64') throw new RangeError(`the input ${name} is ${dtype}; this bench draws f32 and i64`)
      const value = name.includes('type') ? () => 0 : name.includes('mask') ? () => 1 : undefined
      return [name, tensorOf('i64', own, draw(value ?? (() => random.below(vocabulary))))]
    }),
  )
}

interface FedInput {
  readonly name: string
  readonly type?: { readonly dtype?: DType; readonly dims?: readonly (number | string | undefined)[] }
}

/**
 * Drawn inputs. `shape`: the dims of the first input, if some of its axes are open; open axes of other inputs
 * have one element.
 */
export function feedsOf(
  inputs: readonly FedInput[],
  shape: readonly number[] | undefined,
): ReadonlyMap<string, NetworkTensor> {
  const random = new Random(7)
  return new Map(
    inputs.map(({ name, type }, at) => {
      const known = type?.dims?.map((size) => (typeof size === 'number' ? size : 1)) ?? []
      const dims = at === 0 && shape !== undefined ? shape : known
      const dtype = type?.dtype ?? 'f32'
      const draw = FLOATS.includes(dtype) ? () => random.signed() : () => random.below(MAX_DRAWN)
      const tensor = tensorOf(dtype, dims, Float64Array.from({ length: countOf(dims) }, draw))
      return [name, tensor as NetworkTensor]
    }),
  )
}

/** Integers are below this, and so are ids of the smallest tables. */
const MAX_DRAWN = 40
