// GGUF splits. In: the files of one model, in any order. Out: one file's metadata and all tensors.
import { HalfbyteError } from '../base/errors.ts'
import type { GgufFile } from './gguf.ts'
import { malformed, shown } from './malformed.ts'
import type { MetaValue, TensorInfo } from './tensors.ts'

const SPLIT_LIMIT = 65535

/** Throws `format` when splits are missing, doubled or of different models. The metadata is the first split's. */
export function mergeSplits(files: readonly GgufFile[]): Pick<GgufFile, 'metadata' | 'tensors'> {
  const [only] = files
  if (only === undefined) throw new HalfbyteError('format', 'no GGUF file was given; give the model file')
  const count = splitCount(only)
  if (count === 1) {
    if (files.length === 1) return only
    throw new HalfbyteError(
      'format',
      `${files.length} GGUF files were given and ${only.source.name} is a whole model; give one of them`,
      { files: files.map((file) => file.source.name) },
    )
  }
  const splits = arrange(files, count)
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
  const first = splits[0] as GgufFile
  const expected = integerOf(first, 'split.tensors.count', tensors.size)
  if (expected !== tensors.size) {
    throw malformed(
      first.source.name,
      `split.tensors.count is ${expected} but the splits hold ${tensors.size} tensors`,
    )
  }
  return { metadata: first.metadata, tensors }
}

function arrange(files: readonly GgufFile[], count: number): readonly GgufFile[] {
  const byNumber = new Map<number, GgufFile>()
  for (const file of files) {
    const own = splitCount(file)
    const number = integerOf(file, 'split.no', 0)
    if (own !== count || number >= count) {
      throw malformed(
        file.source.name,
        `it is split ${number + 1} of ${own} among splits of a model in ${count}`,
      )
    }
    const twin = byNumber.get(number)
    if (twin !== undefined) {
      throw new HalfbyteError(
        'format',
        `${file.source.name} and ${twin.source.name} are both split ${number + 1} of ${count}; give each split once`,
        { split: number + 1, count },
      )
    }
    byNumber.set(number, file)
  }
  const missing: number[] = []
  for (let number = 0; number < count; number++) if (!byNumber.has(number)) missing.push(number)
  if (missing.length > 0) throw missingSplits(files[0] as GgufFile, missing, files.length, count)
  return [...byNumber].sort(([a], [b]) => a - b).map(([, file]) => file)
}

function missingSplits(
  example: GgufFile,
  missing: readonly number[],
  given: number,
  count: number,
): HalfbyteError {
  const pad = (number: number) => String(number).padStart(5, '0')
  const nameOf = (number: number) =>
    example.source.name.replace(/\d{5}-of-\d{5}(?=\.gguf)/, `${pad(number + 1)}-of-${pad(count)}`)
  const names = missing.slice(0, 8).map((number) => `${number + 1} (${nameOf(number)})`)
  const rest = missing.length > names.length ? ` and ${missing.length - names.length} more` : ''
  return new HalfbyteError(
    'format',
    `the model is split in ${count} files and ${given} were given; add split ${names.join(', ')}${rest}`,
    { count, given, missing: missing.slice(0, 64).map((number) => String(number + 1)) },
  )
}

function splitCount(file: GgufFile): number {
  // llama.cpp's splitter writes 0 or nothing into a file that is whole.
  return Math.max(1, integerOf(file, 'split.count', 1))
}

function integerOf(file: GgufFile, key: string, fallback: number): number {
  const value: MetaValue = file.metadata.get(key) ?? fallback
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= 0 &&
    (key !== 'split.count' || value <= SPLIT_LIMIT)
  ) {
    return value
  }
  throw malformed(file.source.name, `${key} is ${shown(String(value))}, which must be a whole number from 0`)
}
