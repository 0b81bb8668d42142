// GGUF splits. In: the files of one model, in any order. Out: the first split's metadata and the tensors of
// all.
import { HalfbyteError } from '../../base/errors.ts'
import { isCount } from '../../base/values.ts'
import { malformed, shown } from '../malformed.ts'
import { inOrder } from '../splits.ts'
import type { MetaValue, TensorInfo } from '../tensors.ts'
import type { GgufFile } from './gguf.ts'

const SPLIT_LIMIT = 65535

/**
 * Throws `format` when splits are missing, given twice or from different models. The metadata is the first
 * split's.
 */
export function mergeSplits(files: readonly GgufFile[]): Pick<GgufFile, 'metadata' | 'tensors'> {
  const [first, ...others] = files.map((file) => ({
    ...file,
    name: file.source.name,
    number: integerOf(file, 'split.no', 0),
    count: splitCount(file),
  }))
  if (first === undefined) throw new HalfbyteError('format', 'no GGUF file was given; give the model file')
  const splits = inOrder([first, ...others])
  if (splits.length === 1) return first
  const tensors = new Map<string, TensorInfo>()
  for (const { source, tensors: own } of splits) {
    for (const tensor of own.values()) {
      const before = tensors.get(tensor.name)
      if (before !== undefined) {
        throw malformed(source.name, `the tensor ${shown(tensor.name)} is also in ${before.source.name}`)
      }
      tensors.set(tensor.name, tensor)
    }
  }
  const head = splits[0] as GgufFile
  const expected = integerOf(head, 'split.tensors.count', tensors.size)
  if (expected !== tensors.size) {
    throw malformed(
      head.source.name,
      `split.tensors.count is ${expected} but the splits hold ${tensors.size} tensors`,
    )
  }
  return { metadata: head.metadata, tensors }
}

function splitCount(file: GgufFile): number {
  // llama.cpp writes 0 or nothing into a file that is not split.
  return Math.max(1, integerOf(file, 'split.count', 1))
}

function integerOf(file: GgufFile, key: string, fallback: number): number {
  const value: MetaValue = file.metadata.get(key) ?? fallback
  if (isCount(value) && (key !== 'split.count' || value <= SPLIT_LIMIT)) return value
  throw malformed(file.source.name, `${key} is ${shown(value)}, which must be a whole number from 0`)
}
