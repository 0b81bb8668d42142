// Opens a model with all readers and families built in, for programs that load no further scripts.
import type { ByteSource } from '../base/bytes.ts'
import * as gguf from '../formats/gguf/open-gguf.ts'
import { openFiles } from '../formats/open-files.ts'
import type { LoadReaders, ModelFile } from '../formats/readers.ts'
import * as safetensors from '../formats/safetensors/open-safetensors.ts'
import * as families from './rare/table.ts'

/** Pages load a reader only when a file needs it. */
export const ALL_READERS: LoadReaders = {
  loadGguf: async () => gguf,
  loadSafetensors: async () => safetensors,
  loadFamilies: async () => families,
}

/** `openFiles` with `ALL_READERS`. */
export const openModel = (sources: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> =>
  openFiles(sources, ALL_READERS, signal)
