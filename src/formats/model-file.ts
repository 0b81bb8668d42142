// ModelFile. In: nothing. Out: the type of what every reader of models returns: tensors, metadata and
// tokenizer.
import type { Graph } from '../graph/nodes.ts'
import type { TokenizerSpec } from '../text/spec.ts'
import type { MetaObject } from './json.ts'
import type { MetaValue, TensorIndex } from './tensors.ts'

export type ModelFormat = 'gguf' | 'safetensors' | 'hbm' | 'onnx'

/** A model whose headers have been read and checked. Its data is still in the sources. */
export interface ModelFile {
  readonly format: ModelFormat
  /** The quantisation method that config.json names. */
  readonly quantization?: MetaValue | undefined
  /** The model's own name, or its file's name. */
  readonly name: string
  /** By the file's own names, which are canonical in a .hbm pack. */
  readonly tensors: TensorIndex
  /**
   * GGUF: the file's keys. safetensors: config.json as `config`, without `quantization_config` and nulls, and
   * the keys of the nulls as `unset`. .hbm: a ModelConfig as `config`, and the model card as `about`. ONNX: a
   * ModelConfig as `config`.
   */
  readonly metadata: ReadonlyMap<string, MetaValue>
  readonly tokenizer?: TokenizerSpec | undefined
  /** The graph of a step, of a file that has one. Weights then have the names that the graph gives them. */
  readonly graph?: Graph | undefined
  /** Positions that the graph is known to be right for, where these are fewer than any context. */
  readonly mostPositions?: number | undefined
  /** Where the model computes other values than its file says, a sentence each. */
  readonly notes?: readonly string[] | undefined
  /** How the graph came to be, a line for each step; for prints. */
  readonly history?: readonly string[] | undefined
  /** Sampling defaults under the names of generation_config.json. */
  readonly generationConfig?: MetaObject | undefined
}
