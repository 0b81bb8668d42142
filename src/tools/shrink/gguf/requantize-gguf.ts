// Writes a GGUF file again with its matrices in another type. Metadata and all other tensors keep their
// bytes, so that this works for every architecture.
import { roleOf, weightOf } from '../../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { elementCount, rowBytes } from '../../../core/formats/dtypes.ts'
import { readGguf } from '../../../core/formats/gguf/gguf.ts'
import { type NewTensor, rewriteGguf } from '../../../core/formats/gguf/gguf-rewriter.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { dtypeOf, type GgufDType, matrixBytes } from './gguf-tensors.ts'
import type { GgufOutput } from './model-gguf.ts'

interface Requantized extends GgufOutput {
  /** Names of the quantised types from which codes are rounded again. */
  readonly rounded: readonly string[]
}

/**
 * Matrices that already have the type are copied, so that a file converted to its own type has the same
 * tensors. Throws `unsupported` for a file that is one of several splits, and what reading throws.
 */
export async function requantizedGguf(
  prepared: PreparedModel,
  mostly: GgufDType,
  signal: AbortSignal,
): Promise<Requantized> {
  const { file } = prepared
  const sources = new Set([...file.tensors.values()].map(({ source }) => source))
  const [source] = sources
  if (source === undefined || sources.size > 1) {
    throw new HalfbyteError(
      'unsupported',
      `${file.name} is in ${sources.size} splits; join them with llama.cpp's gguf-split --merge first, or write a .hbm`,
    )
  }
  const raw = await readGguf(source, signal)
  const roles = matrixNames(prepared)
  const replaced = new Map<string, NewTensor>()
  const rounded = new Set<string>()
  let bytes = 0
  for (const tensor of raw.tensors.values()) {
    const { name, shape } = tensor
    const own = roles.get(name)
    const dtype = own === undefined || shape.length < 2 ? undefined : dtypeOf(own, shape, mostly)
    bytes += dtype === undefined ? tensor.byteLength : rowBytes(dtype, elementCount(shape) ?? 0)
    if (dtype === undefined || dtype === tensor.dtype) continue
    if (!FLOATS.includes(tensor.dtype) && !FLOATS.includes(dtype)) rounded.add(tensor.dtype)
    replaced.set(name, { dtype, data: () => matrixBytes(asMatrix(tensor), { name, dtype }, signal) })
  }
  return { bytes, rounded: [...rounded], chunks: rewriteGguf(raw, replaced, mostly, signal) }
}

const FLOATS: readonly string[] = ['F32', 'F16', 'BF16']

/** A stack of experts is one matrix with the rows of all. */
function asMatrix(tensor: TensorInfo): TensorInfo {
  const k = tensor.shape.at(-1) ?? 1
  return { ...tensor, shape: [(elementCount(tensor.shape) ?? 0) / k, k] }
}

/** The tensors that the kernels multiply by or look up, by their names in the file, with a canonical name. */
function matrixNames({ plan, weights }: PreparedModel): ReadonlyMap<string, string> {
  return new Map(
    plan.slots.flatMap(({ ref }) =>
      ref.parts
        .filter(({ name }) => ref.kind !== 'vector' && ['matrix', 'table'].includes(roleOf(name)))
        .map(({ name }) => [weightOf(weights, name).name, name] as const),
    ),
  )
}
