// Reads importance matrices of llama.cpp ("imatrix"): for each input of a matrix, the mean of its squared
// activations on some text. That is the diagonal of the matrix's Hessian, 2 X X^T without its factor.
//
//   GGUF   NAME.in_sum2 f32 [matrices, k], NAME.counts f32 [matrices]; mean = in_sum2 / counts
//   .dat   i32 entries | i32 length, name, i32 calls, i32 k, f32 [k] | ..; mean = value / calls
//
// NAME is the tensor's in GGUF. A tensor of experts has a row of means for each of them.

import { expectedTensors } from '../../../core/arch/tensors/tensor-names.ts'
import type { ByteSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { readVector } from '../../../core/formats/dequantize.ts'
import { GGUF_MAGIC, readGguf } from '../../../core/formats/gguf/gguf.ts'
import { malformed, shown } from '../../../core/formats/malformed.ts'
import { SlabReader } from '../../../core/formats/slab-reader.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { matricesOf } from './work-files.ts'

/** Means by the names of GGUF: one list, or one for each expert; undefined for one that no token reached. */
export type ImportanceFile = ReadonlyMap<string, readonly (Float32Array | undefined)[]>

/** Importance of each input, by the canonical name of the matrix. */
export type Importance = ReadonlyMap<string, Float64Array>

const SUMS = '.in_sum2'
const COUNTS = '.counts'
const LONGEST_NAME = 1 << 10

/** Throws `format` for a file that is neither form, or damaged. */
export async function readImportance(source: ByteSource, signal?: AbortSignal): Promise<ImportanceFile> {
  const reader = new SlabReader(source, signal)
  if (source.size < 4) throw foreignFile(source.name)
  await reader.fill(4)
  const first = reader.u32()
  const entries =
    first === GGUF_MAGIC ? await readSums(source, signal) : await readCalls(reader, source, first)
  for (const [name, lists] of entries) {
    const isValid = lists.every(
      (means) => means?.every((mean) => mean >= 0 && mean < Number.POSITIVE_INFINITY) ?? true,
    )
    if (!isValid)
      throw malformed(
        source.name,
        `the importance of ${shown(name)} has a value that is not a mean of squares`,
      )
  }
  return entries
}

/** A file that is not an importance matrix. */
export const foreignFile = (file: string) =>
  new HalfbyteError(
    'format',
    `${file} is not an importance matrix; give the file that llama-imatrix wrote (.gguf or .dat)`,
    { file },
  )

async function readSums(source: ByteSource, signal: AbortSignal | undefined): Promise<ImportanceFile> {
  const { tensors } = await readGguf(source, signal)
  const entries = new Map<string, readonly (Float32Array | undefined)[]>()
  for (const [name, sums] of tensors) {
    if (!name.endsWith(SUMS)) continue
    const stem = name.slice(0, -SUMS.length)
    const counts = tensors.get(stem + COUNTS)
    const k = sums.shape.at(-1) ?? 0
    const matrices = k === 0 ? 0 : sums.byteLength / 4 / k
    if (sums.dtype !== 'F32' || counts?.dtype !== 'F32' || counts.byteLength !== 4 * matrices) {
      throw malformed(
        source.name,
        `${shown(name)} has the shape [${sums.shape}] and its counts ${counts === undefined ? 'are missing' : `[${counts.shape}]`}`,
      )
    }
    const values = await readVector({ ...sums, shape: [matrices * k] }, signal)
    const times = await readVector({ ...counts, shape: [matrices] }, signal)
    entries.set(
      stem,
      Array.from(times, (count, matrix) =>
        count > 0 ? values.slice(matrix * k, (matrix + 1) * k).map((sum) => sum / count) : undefined,
      ),
    )
  }
  if (entries.size === 0) throw foreignFile(source.name)
  return entries
}

/** `count`: the number that the file begins with. */
async function readCalls(
  reader: SlabReader,
  { name: file, size }: ByteSource,
  count: number,
): Promise<ImportanceFile> {
  // An entry has three numbers, a name and at least one value.
  if (count === 0 || count > size / 17) throw foreignFile(file)
  const entries = new Map<string, readonly (Float32Array | undefined)[]>()
  while (entries.size < count) {
    await reader.fill(4)
    const length = reader.i32()
    if (length < 1 || length > LONGEST_NAME) throw foreignFile(file)
    await reader.fill(length + 8)
    const name = reader.text(length)
    const calls = reader.i32()
    const k = reader.i32()
    if (calls < 0 || k < 1 || 4 * k > reader.remaining || entries.has(name)) {
      throw malformed(
        file,
        `${shown(name)} claims ${k} values of ${calls} calls with ${reader.remaining} bytes left in the file`,
        { offset: reader.position },
      )
    }
    await reader.fill(4 * k)
    const means = Float32Array.from({ length: k }, () => reader.f32() / Math.max(calls, 1))
    entries.set(name, [calls > 0 ? means : undefined])
  }
  return entries
}

/**
 * The importance of a model's matrices, and the names of those that the file does not know. The .dat form has
 * the means of all experts in one list. Throws `unsupported` for a file of another model.
 */
export function importanceOf(
  entries: ImportanceFile,
  prepared: PreparedModel,
  file: string,
): { readonly importance: Importance; readonly unknown: readonly string[] } {
  const { config, weights } = prepared
  const stored = new Map<string, string>()
  for (const { name, place } of expectedTensors('gguf', config)) stored.set(name, place.tensor)
  const importance = new Map<string, Float64Array>()
  const unknown: string[] = []
  for (const name of matricesOf(prepared)) {
    const lists = entries.get(stored.get(name) ?? '') ?? []
    const expert = Number(/\.experts\.(\d+)\./.exec(name)?.[1] ?? 0)
    const k = weights.get(name)?.shape[1] ?? 0
    const [only] = lists
    const joined =
      lists.length === 1 && only !== undefined && only.length !== k ? slice(only, k, expert) : undefined
    const means = joined ?? lists[expert]
    if (means === undefined) {
      unknown.push(name)
    } else if (means.length !== k) {
      throw otherModel(
        file,
        `${means.length} inputs for ${shown(stored.get(name) ?? name)}, and the model's has ${k}`,
      )
    } else {
      importance.set(name, Float64Array.from(means))
    }
  }
  if (importance.size === 0) {
    throw otherModel(
      file,
      `${entries.size} matrices, none of which the model has; the first is ${shown([...entries.keys()][0] ?? '')}`,
    )
  }
  return { importance, unknown }
}

const slice = (means: Float32Array, k: number, expert: number): Float32Array | undefined =>
  means.length >= (expert + 1) * k ? means.subarray(expert * k, (expert + 1) * k) : undefined

const otherModel = (file: string, found: string) =>
  new HalfbyteError(
    'unsupported',
    `${file} has importance of ${found}; give the one that was made for this model`,
    { file },
  )
