// Checks exported networks. In: a file and the sizes on which to compare. Out: a rejection, or the largest
// difference from onnxruntime-web over all sizes and both builds, relative to the largest output.
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { isHalfbyteError } from '../../../../src/core/base/errors.ts'
import { Network, type NetworkTensor } from '../../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../../src/network/compile/staged/ort-tensors.ts'
import { tensorOf } from '../../../../src/network/onnx/ir/tensor.ts'
import { Random } from '../../../helpers/random.ts'
import { largestRelative } from '../exporters/verdict.ts'

/** The metadata that torch_networks.py writes for a file. */
export interface Sizes {
  readonly inputs: readonly { readonly name: string; readonly dims: readonly (number | string)[] }[]
  readonly symbols: readonly string[]
  /** The sizes of the symbols, for each run. */
  readonly sizes: readonly (readonly number[])[]
}

export type Verdict =
  | { readonly is: 'refused'; readonly why: string }
  | { readonly is: 'equal' | 'different'; readonly runs: number; readonly worst: number; readonly at: string }

/** Tolerance for summation order, relative to the largest output. */
const MOST = 1e-4
const BUILDS = ['relaxed', 'simd128'] as const

export async function judgeNetwork(
  bytes: Uint8Array<ArrayBuffer>,
  { inputs, symbols, sizes }: Sizes,
): Promise<Verdict> {
  const cases = sizes.map((row, index) => {
    const random = new Random(index + 1)
    const dimsOf = (dims: readonly (number | string)[]) =>
      dims.map((size) => (typeof size === 'number' ? size : row[symbols.indexOf(size)]!))
    return { row, given: inputs.map(({ name, dims }) => [name, drawn(random, name, dimsOf(dims))] as const) }
  })
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'], logSeverityLevel: 4 })
  let worst = 0
  let at = ''
  try {
    for (const build of BUILDS) {
      const network = await Network.load(new File([bytes], 'model.onnx'), { build })
      for (const { row, given } of cases) {
        const wanted = await session.run(toOrtFeeds(Tensor, given))
        const apart = farthest(await network.run(Object.fromEntries(given)), wanted)
        if (apart <= worst) continue
        worst = apart
        at = `${build} [${row}]`
      }
      await network.dispose()
    }
  } catch (error) {
    if (isHalfbyteError(error)) return { is: 'refused', why: `${error.code}: ${error.message}` }
    throw error
  } finally {
    await session.release()
  }
  return { is: worst <= MOST ? 'equal' : 'different', runs: cases.length, worst, at }
}

/** Ids, a mask whose last row ends early, types of 0 and 1, or floats. */
function drawn(random: Random, name: string, dims: readonly number[]) {
  const count = dims.reduce((product, size) => product * size, 1)
  if (dims.length > 2 || !/_ids$|_mask$/.test(name)) {
    return tensorOf(
      'f32',
      dims,
      Float32Array.from({ length: count }, () => random.signed()),
    )
  }
  const width = dims.at(-1)!
  const of = (at: number) => {
    if (name.endsWith('mask')) return count - at <= Math.floor(width / 3) ? 0 : 1
    return name === 'token_type_ids' ? at % 2 : 3 + random.below(87)
  }
  return tensorOf(
    'i64',
    dims,
    BigInt64Array.from({ length: count }, (_, at) => BigInt(of(at))),
  )
}

/** The largest difference over all outputs; Infinity if shapes differ. */
function farthest(found: Record<string, NetworkTensor>, wanted: InferenceSession.ReturnType): number {
  const each = Object.entries(wanted).map(([name, { dims, data }]) => {
    const own = found[name]
    if (`${own?.dims}` !== `${dims}`) return Infinity
    return largestRelative([own!.data as Float32Array], [data as Float32Array])
  })
  return Math.max(...each)
}
