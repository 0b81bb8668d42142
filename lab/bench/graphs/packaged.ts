// Inputs of the graphs that Python packages ship. In: a graph's path and its inputs. Out: random tensors in
// the sizes of packaged-sizes.json.
import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { NetworkTensor } from '../../../src/network/helpers/tensors.ts'
import { countOf, type DType, tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { Random } from '../../../test/helpers/random.ts'

type Sizes = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>
const SIZES = JSON.parse(readFileSync(new URL('packaged-sizes.json', import.meta.url), 'utf8')) as Sizes

interface Taken {
  readonly name: string
  readonly dtype: DType | undefined
  readonly dims: readonly (number | string)[] | undefined
}

/** `folder/file.onnx`, as in the tables. */
export const packagedName = (path: string): string => `${basename(dirname(path))}/${basename(path)}`

export function packagedInputs(path: string, inputs: readonly Taken[]): Record<string, NetworkTensor> {
  const random = new Random(5)
  const given = Object.entries(SIZES)
    .filter(([part]) => new RegExp(part).test(packagedName(path)))
    .map(([, sizes]) => sizes)
  return Object.fromEntries(
    inputs.map(({ name, dtype = 'f32', dims = [] }): [string, NetworkTensor] => {
      const own =
        given.find((sizes) => name in sizes)?.[name] ??
        dims.map((size) => (typeof size === 'number' ? size : 1))
      const value = () => {
        if (name === 'sr') return 16_000
        if (dtype === 'bool') return 1
        return dtype === 'f32' ? 0.1 * random.signed() : random.between(1, 49)
      }
      const tensor = tensorOf(dtype, own, Array.from({ length: countOf(own) }, value))
      return [name, tensor as NetworkTensor]
    }),
  )
}
