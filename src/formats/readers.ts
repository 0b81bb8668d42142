// Readers. In: nothing. Out: the interfaces of the readers of GGUF and safetensors, which a page loads when
// it opens such a file.
import type { ByteSource } from '../base/bytes.ts'
import type { Adapter } from './adapter.ts'
import type { ModelFile } from './model-file.ts'

/** What the script of the GGUF reader exports. */
export interface GgufReader {
  /**
   * One file or all its splits, in any order. Throws `format` for damaged files, `unsupported` for dtypes.
   */
  openGguf(files: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile>
  /** Throws `unsupported` for a file that is no LoRA adapter. */
  readGgufAdapter(file: ByteSource, signal?: AbortSignal): Promise<Adapter>
}

/** What the script of the safetensors reader exports. */
export interface SafetensorsReader {
  /** `others` are config.json and the further files of the model. Throws `format` where one is missing. */
  openSafetensors(
    files: readonly ByteSource[],
    others: readonly ByteSource[],
    signal?: AbortSignal,
  ): Promise<ModelFile>
  /** PEFT's files. Throws `unsupported` for adapters that are no LoRA. */
  readPeftAdapter(weights: ByteSource, config: ByteSource, signal?: AbortSignal): Promise<Adapter>
}

/** Each rejects with `network` where the reader's script cannot be loaded. */
export interface LoadReaders {
  loadGguf(): Promise<GgufReader>
  loadSafetensors(): Promise<SafetensorsReader>
}
