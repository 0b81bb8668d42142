// Opening models with every reader at hand. In: the files of one model in any order. Out: its headers.
import type { ByteSource } from '../base/bytes.ts'
import * as gguf from './gguf/open-gguf.ts'
import { openFiles } from './open-files.ts'
import type { LoadReaders, ModelFile } from './readers.ts'
import * as safetensors from './safetensors/open-safetensors.ts'

/** For programs that have all of the library in one place; pages load a reader when a file needs it. */
export const ALL_READERS: LoadReaders = {
  loadGguf: async () => gguf,
  loadSafetensors: async () => safetensors,
}

/** `openFiles` with `ALL_READERS`. */
export const openModel = (sources: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> =>
  openFiles(sources, ALL_READERS, signal)
