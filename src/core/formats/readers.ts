// The interfaces of the readers of GGUF, safetensors and ONNX. A page loads a reader when it opens such a
// file.

import type { ByteSource } from '../base/bytes.ts'
import type { Graph } from '../graph/nodes.ts'
import type { TokenizerSpec } from '../text/spec.ts'
import type { Adapter } from './adapter.ts'
import type { MetaObject } from './json-files.ts'
import type { MetaValue, TensorIndex } from './tensors.ts'

export type ModelFormat = 'gguf' | 'safetensors' | 'hbm' | 'onnx'

/** A model whose headers have been read and checked. Its data is still in the sources. */
export interface ModelFile {
  readonly format: ModelFormat
  /** The quantisation method that config.json names. */
  readonly quantization?: MetaValue | undefined
  /** The model's own name, or its file's name. */
  readonly name: string
  /** Keyed by the file's own names, which are canonical in a .hbm pack. */
  readonly tensors: TensorIndex
  /**
   * GGUF: the file's keys. safetensors: config.json as `config`, without `quantization_config` and nulls, and
   * the keys of null values as `unset`. .hbm: a ModelConfig as `config`, and the model card as `about`. ONNX:
   * a ModelConfig as `config`.
   */
  readonly metadata: ReadonlyMap<string, MetaValue>
  readonly tokenizer?: TokenizerSpec | undefined
  /**
   * The vision tower, from a separate GGUF or from the weights of safetensors. With safetensors, its metadata
   * is the whole `config` and, if the folder has one, the image `processor`.
   */
  readonly tower?: ModelFile | undefined
  /** The graph of a step, if the file has one. The weights are then named as in the graph. */
  readonly graph?: Graph | undefined
  /** The number of positions up to which the graph is proven correct. Absent: in any context. */
  readonly mostPositions?: number | undefined
  /** How the graph was derived, one line per step; for printing. */
  readonly history?: readonly string[] | undefined
  /** Sampling defaults under the names of generation_config.json. */
  readonly generationConfig?: MetaObject | undefined
  /** Loads the rare families; passed on from the `LoadReaders` that opened the file. */
  readonly loadFamilies?: LoadReaders['loadFamilies'] | undefined
}

const KEY = Symbol.for('halfbyte.readers')

type Told = Map<string, unknown>
const told = (): Told => {
  const scope = globalThis as { [KEY]?: Told }
  scope[KEY] ??= new Map()
  return scope[KEY]
}

export function tellReader(format: string, reader: unknown): void {
  told().set(format, reader)
}

/** Undefined until a script has registered one. */
export const toldReader = (format: string): unknown => told().get(format)

/** The exports of the GGUF reader's script. */
interface GgufReader {
  /**
   * One file or all its splits, in any order. Throws `format` for damaged files, `unsupported` for
   * unsupported dtypes.
   */
  openGguf(files: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile>
  /** Throws `unsupported` if the file is not a LoRA adapter. */
  readGgufAdapter(file: ByteSource, signal?: AbortSignal): Promise<Adapter>
}

/** The exports of the safetensors reader's script. */
interface SafetensorsReader {
  /** `others` are config.json and the model's other files. Throws `format` if one is missing. */
  openSafetensors(
    files: readonly ByteSource[],
    others: readonly ByteSource[],
    signal?: AbortSignal,
  ): Promise<ModelFile>
  /** PEFT's files. Throws `unsupported` for adapters other than LoRA and DoRA. */
  readPeftAdapter(weights: ByteSource, config: ByteSource, signal?: AbortSignal): Promise<Adapter>
}

/** Each rejects with `network` if the reader's script cannot be loaded. */
export interface LoadReaders {
  loadGguf(): Promise<GgufReader>
  loadSafetensors(): Promise<SafetensorsReader>
  /** The exports of arch/rare/table.ts: families with few models. */
  loadFamilies(): Promise<unknown>
}
