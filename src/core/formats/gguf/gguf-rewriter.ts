// Rewrites a GGUF file with some tensors replaced. Metadata and all other tensors keep their bytes.
import { HalfbyteError } from '../../base/errors.ts'
import { rowBytes } from '../dtypes.ts'
import type { DType } from '../tensors.ts'
import { GGUF_MAGIC, type GgufFile, readAlignment } from './gguf.ts'
import { padding, tensorEntry } from './gguf-writer.ts'

/** Has the shape of the tensor that it replaces. */
export interface NewTensor {
  readonly dtype: DType
  /** Called once, when the tensor is reached. */
  readonly data: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

/** The `general.file_type` for files in which most matrices have this dtype. */
export const FILE_TYPES: Readonly<Partial<Record<DType, number>>> = {
  F32: 0,
  F16: 1,
  Q4_0: 2,
  Q4_1: 3,
  Q8_0: 7,
  BF16: 32,
}
/** Number of bytes of a copied tensor that are in memory at once. */
const COPY_BYTES = 16 << 20

/**
 * `mostly`: the dtype that the file is named after. Throws `unsupported` for one of several splits,
 * `internal` if the data has the wrong length, read errors, and the signal's reason.
 */
export async function* rewriteGguf(
  file: GgufFile,
  replaced: ReadonlyMap<string, NewTensor>,
  mostly: DType,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { source, metadata, header } = file
  if (metadata.has('split.count')) {
    throw new HalfbyteError(
      'unsupported',
      `${source.name} is one of several splits; join them with llama.cpp's gguf-split --merge first, or write a .hbm`,
    )
  }
  const tensors = [...file.tensors.values()].map((tensor) => {
    const own = replaced.get(tensor.name)
    const dtype = own?.dtype ?? tensor.dtype
    const elements = tensor.shape.reduce((product, size) => product * size, 1)
    return { ...tensor, own, dtype, bytes: rowBytes(dtype, elements) }
  })
  const head = await source.read(0, header.end, signal)
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const fileType = FILE_TYPES[mostly]
  if (header.fileTypeAt !== undefined && fileType !== undefined)
    view.setUint32(header.fileTypeAt, fileType, true)
  if (view.getUint32(0, true) !== GGUF_MAGIC) throw changed(source.name)
  const alignment = readAlignment(source.name, metadata)
  yield head
  let length = head.length
  let offset = 0
  for (const { name, shape, dtype, bytes } of tensors) {
    const entry = tensorEntry(name, shape, dtype, offset)
    length += entry.length
    yield entry
    offset += bytes + padding(bytes, alignment).length
  }
  yield padding(length, alignment)
  for (const { name, own, bytes, offset: from } of tensors) {
    signal.throwIfAborted()
    if (own !== undefined) {
      let came = 0
      for await (const chunk of own.data()) {
        signal.throwIfAborted()
        came += chunk.length
        yield chunk
      }
      if (came !== bytes) throw new HalfbyteError('internal', `${name}: got ${came} bytes, expected ${bytes}`)
    } else {
      for (let at = 0; at < bytes; at += COPY_BYTES)
        yield await source.read(from + at, Math.min(COPY_BYTES, bytes - at), signal)
    }
    yield padding(bytes, alignment)
  }
}

const changed = (file: string): HalfbyteError =>
  new HalfbyteError('integrity', `${file} changed during reading; start again`)
