// safetensors writer. In: tensors with their bytes. Out: the file.
import type { StoredDType } from '../../../../src/core/formats/safetensors/safetensors.ts'
import { concat } from './gguf-writer.ts'

export interface StoredTensor {
  readonly dtype: StoredDType
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

/** Tensors are stored in insertion order without gaps, as the format requires. */
export function safetensorsBytes(tensors: Readonly<Record<string, StoredTensor>>): Uint8Array {
  let end = 0
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [end, end + data.byteLength] }
    end += data.byteLength
  }
  return safetensorsFile(header, concat(Object.values(tensors).map((tensor) => tensor.data)))
}

/** A file with any header, valid or invalid. */
export function safetensorsFile(header: unknown, data: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header))
  const length = new Uint8Array(8)
  new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true)
  return concat([length, json, data])
}
