// Opens a model with every reader available, for programs that bundle the whole library.
import type { ByteSource } from '../base/bytes.ts'
import * as gguf from './gguf/open-gguf.ts'
import { openFiles } from './open-files.ts'
import type { LoadReaders, ModelFile } from './readers.ts'
import * as safetensors from './safetensors/open-safetensors.ts'

/** Pages load a reader only when a file needs it. */
export const ALL_READERS: LoadReaders = {
  loadGguf: async () => gguf,
  loadSafetensors: async () => safetensors,
}

/** `openFiles` with `ALL_READERS`. */
export const openModel = (sources: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> =>
  openFiles(sources, ALL_READERS, signal)
