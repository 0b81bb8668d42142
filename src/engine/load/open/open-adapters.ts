// Opening adapters. In: a request's adapters, a way to open files. Out: their headers, and the scale of each.
import type { ByteSource } from '../../../base/bytes.ts'
import { adapterFiles, openAdapter } from '../../../formats/open-adapter.ts'
import type { LoadReaders } from '../../../formats/readers.ts'
import type { ScaledAdapter } from '../../../weights/adapt.ts'
import type { LoadRequest } from '../../wire/protocol.ts'

/** Throws what `open` and `readers` throw, and `format` or `unsupported` if a file is not a LoRA adapter. */
export async function openAdapters(
  lora: LoadRequest['lora'],
  open: (source: LoadRequest['source']) => Promise<{ readonly sources: readonly ByteSource[] }>,
  readers: LoadReaders,
  signal?: AbortSignal,
): Promise<ScaledAdapter[]> {
  const adapters: ScaledAdapter[] = []
  for (const { source, scale } of lora ?? []) {
    const sources: ByteSource[] = []
    for (const file of typeof source === 'string' ? adapterFiles(source) : [source]) {
      sources.push(...(await open(file)).sources)
    }
    adapters.push({ adapter: await openAdapter(sources, readers, signal), scale })
  }
  return adapters
}
