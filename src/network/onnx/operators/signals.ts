// Operators on signals: windows, spectra and mel filters.
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import {
  define,
  flagOf,
  type Inference,
  intOf,
  type Operator,
  scalarOf,
  statedDtype,
} from '../ir/operator.ts'
import { type DType, FLOATS, NUMBERS } from '../ir/tensor.ts'

export const outputDtype = (node: Node): DType => statedDtype(node, 'output_datatype') ?? 'f32'

const windowOf = (name: string): Operator =>
  define({
    name,
    since: 17,
    attributes: { output_datatype: 'int', periodic: 'int' },
    dtypes: [['i32', 'i64']],
    infer: ({ node, inputs: [size] }) => [{ dtype: outputDtype(node), dims: size?.elements }],
  })

/** Bins of a spectrum of `length` samples: half of them and one if it is one-sided. */
const binsOf = (node: Node, length: Dim | undefined, fallback: boolean): Dim | undefined => {
  if (!flagOf(node, 'onesided', fallback)) return length
  return typeof length === 'number' ? Math.floor(length / 2) + 1 : undefined
}

/** The transformed axis. Before opset 20, it is an attribute. */
export const transformedAxis = (node: Node, given: number | undefined): number =>
  node.version < 20 ? intOf(node, 'axis', 1) : (given ?? -2)

/** `x` [..., 1 or 2]: the last axis has the real and the imaginary part. */
const dft: Operator = define({
  name: 'DFT',
  since: 17,
  inputs: [1, 3],
  attributes: { axis: 'int', inverse: 'int', onesided: 'int' },
  dtypes: [FLOATS, ['i32', 'i64'], ['i32', 'i64']],
  infer: inferDft,
})

function inferDft({ node, inputs: [x, length, given], constant }: Inference): (Type | undefined)[] {
  if (x === undefined) return []
  const axis = given === undefined ? undefined : scalarOf(constant(2))
  const isKnown = x.dims !== undefined && (given === undefined || axis !== undefined)
  if (!isKnown || (length !== undefined && length.elements === undefined)) return [{ dtype: x.dtype }]
  const dims = [...x.dims!]
  const at = transformedAxis(node, axis)
  const own = at < 0 ? at + dims.length : at
  const bins = binsOf(node, length?.elements?.[0] ?? dims[own], false)
  if (bins === undefined) return [{ dtype: x.dtype }]
  dims[own] = bins
  // The inverse of half a spectrum is real.
  dims[dims.length - 1] = flagOf(node, 'onesided') && flagOf(node, 'inverse') ? 1 : 2
  return [{ dtype: x.dtype, dims: flagOf(node, 'inverse') ? undefined : dims }]
}

/** `x` [batch, samples, 1 or 2]; outputs [batch, frames, bins, 2]. */
const stft: Operator = define({
  name: 'STFT',
  since: 17,
  inputs: [2, 4],
  attributes: { onesided: 'int' },
  dtypes: [FLOATS, ['i32', 'i64'], FLOATS, ['i32', 'i64']],
  infer: ({ inputs: [x] }) => [x && { dtype: x.dtype }],
})

const melWeights: Operator = define({
  name: 'MelWeightMatrix',
  since: 17,
  inputs: [5, 5],
  attributes: { output_datatype: 'int' },
  dtypes: [['i32', 'i64'], ['i32', 'i64'], ['i32', 'i64'], NUMBERS],
  infer: ({ node }) => [{ dtype: outputDtype(node) }],
})

export const SIGNALS: readonly Operator[] = [
  windowOf('BlackmanWindow'),
  windowOf('HammingWindow'),
  windowOf('HannWindow'),
  dft,
  melWeights,
  stft,
]
