// safetensors writer. In: tensors with sources of their bytes. Out: the file as chunks.
import type { StoredDType } from './safetensors.ts'

export interface NewTensor {
  readonly name: string
  readonly dtype: StoredDType
  readonly shape: readonly number[]
  readonly bytes: number
  /** Called once, when the tensor is reached; the chunks add up to `bytes`. */
  readonly data: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** Tensors lie in their order without gaps. The header is padded with spaces to 8 bytes. */
export async function* writeSafetensors(
  tensors: readonly NewTensor[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const entries: (readonly [string, object])[] = [['__metadata__', { format: 'pt' }]]
  let end = 0
  for (const { name, dtype, shape, bytes } of tensors) {
    entries.push([name, { dtype, shape, data_offsets: [end, end + bytes] }])
    end += bytes
  }
  const text = JSON.stringify(Object.fromEntries(entries))
  const bytes = new TextEncoder().encode(text)
  const length = Math.ceil(bytes.length / 8) * 8
  const head = new Uint8Array(8 + length).fill(0x20)
  new DataView(head.buffer).setBigUint64(0, BigInt(length), true)
  head.set(bytes, 8)
  yield head
  for (const { data } of tensors) {
    for await (const chunk of data()) {
      signal.throwIfAborted()
      yield chunk
    }
  }
}
