// Reads a stored tensor as checked runs of strips, and combines the tables of several tensors.

import type { SparseEncoding } from '../../abi/encodings.ts'
import { GROUP_SIZE, ROW_PADDING, sparseParts, sparseTableBytes } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { malformed, shown } from '../../formats/malformed.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { type DenseStrip, denseStrip, emptyStrip, stripBytes } from './panels.ts'
import { STRIP_READERS } from './strip-readers.ts'

/** Some consecutive strips. */
interface StripRun {
  readonly first: number
  /** Byte offset of each strip in `bytes`, then the end of the last one. */
  readonly offsets: readonly number[]
  readonly bytes: Uint8Array
}

/** Maximum bytes of strips that are read at once. */
const RUN_BYTES = 8 << 20
/** Maximum number of weights that are decoded at once: 8 MB as f32. */
const RUN_WEIGHTS = 2 << 20

/**
 * Offsets of each strip and of the end, from the tensor's first byte. Throws `format` for an impossible
 * table.
 */
export async function readStripTable(tensor: TensorInfo, signal?: AbortSignal): Promise<Uint32Array> {
  const [n = 0] = tensor.shape
  const strips = Math.ceil(n / ROW_PADDING)
  const start = sparseTableBytes(n)
  if (tensor.byteLength < start)
    throw damaged(tensor, `${tensor.byteLength} bytes are not a table of ${strips}`)
  const bytes = await tensor.source.read(tensor.offset, start, signal)
  const table = new Uint32Array(bytes.slice(0, (strips + 1) * 4).buffer)
  const isAscending = table.every((at, i) => at % 16 === 0 && (i === 0 ? at === start : at > table[i - 1]!))
  if (!isAscending || table[strips] !== tensor.byteLength)
    throw damaged(tensor, 'its table does not fit its length')
  return table
}

/**
 * Reads all strips in order, several MB at a time, or less if they are to be decoded. `read`: the table that
 * was read earlier, because the file may have changed since. Throws `format` for a strip that no kernel can
 * safely read.
 */
export async function* stripRuns(
  tensor: TensorInfo,
  encoding: SparseEncoding,
  use: 'copy' | 'decode',
  signal?: AbortSignal,
  read?: Uint32Array,
): AsyncGenerator<StripRun> {
  const [, k = 0] = tensor.shape
  const { base, format } = sparseParts(encoding)
  const groups = Math.ceil(k / GROUP_SIZE)
  const table = read ?? (await readStripTable(tensor, signal))
  const most = use === 'copy' ? table.length : Math.max(1, Math.floor(RUN_WEIGHTS / (ROW_PADDING * k)))
  for (let first = 0; first < table.length - 1; ) {
    let end = first + 1
    while (end < table.length - 1 && end - first < most && table[end + 1]! - table[first]! <= RUN_BYTES) end++
    const from = table[first]!
    const stored = await tensor.source.read(tensor.offset + from, table[end]! - from, signal)
    // The bytes are read as words, so they must be aligned.
    const bytes = stored.byteOffset % 4 === 0 ? stored : stored.slice()
    const offsets = Array.from(table.subarray(first, end + 1), (at) => at - from)
    for (let i = 0; i < end - first; i++) {
      if (!STRIP_READERS[format].isWhole(bytes.subarray(offsets[i], offsets[i + 1]), base, groups))
        throw damaged(tensor, `strip ${first + i} is not valid ${encoding}`)
    }
    yield { first, offsets, bytes }
    first = end
  }
}

/** The strips of a run, as dense panels. */
export function densePanels(run: StripRun, encoding: SparseEncoding, k: number): Uint8Array {
  const { base, format } = sparseParts(encoding)
  const groups = Math.ceil(k / GROUP_SIZE)
  const size = stripBytes(base, groups)
  const count = run.offsets.length - 1
  const out = new Uint8Array(count * size)
  for (let i = 0; i < count; i++) {
    const strip: DenseStrip = denseStrip(base, groups, out.subarray(i * size, (i + 1) * size))
    strip.words.set(emptyStrip(base, groups).words)
    STRIP_READERS[format].decode(run.bytes.subarray(run.offsets[i], run.offsets[i + 1]), strip)
  }
  return out
}

/** Bytes of a table for strips of these sizes, including the padding before the first strip. */
export function stripTable(sizes: readonly number[], n: number): Uint8Array {
  const table = new Uint8Array(sparseTableBytes(n))
  const words = new Uint32Array(table.buffer)
  let at = table.byteLength
  for (const [i, size] of sizes.entries()) {
    words[i] = at
    at += size
  }
  if (at >= 2 ** 32) {
    throw new HalfbyteError('unsupported', `a matrix of ${at} bytes; strips take up to ${2 ** 32}`)
  }
  words[sizes.length] = at
  return table
}

function damaged(tensor: TensorInfo, what: string): HalfbyteError {
  return malformed(tensor.source.name, `${shown(tensor.name)}: ${what}`)
}
