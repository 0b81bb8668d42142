// Tensor rows. In: nothing. Out: how one kind of tensor is called and shaped, and what that takes of the hyperparameters.
import type { ModelFormat } from '../formats/model-file.ts'
import type { ValueChange } from '../formats/tensors.ts'
import type { ModelConfig } from './config.ts'

/** The embedding table of safetensors, where a family does not say otherwise. */
export const EMBEDDING = 'model.embed_tokens.weight|backbone.embeddings.weight|backbone.embedding.weight'

export type TensorShape = TensorRow['shape']

/** One kind of tensor under its three names; N is the layer. */
export interface TensorRow {
  /** Canonical: in graphs, plans and .hbm packs. */
  readonly name: string
  readonly gguf: string
  /** Several, separated by |, where writers differ. */
  readonly safetensors: string
  /** Outermost first. */
  readonly shape: (config: ModelConfig) => readonly number[]
  /** Whether layer N has it, or the model where there is no N. Default: every one has it. */
  readonly isIn?: ((config: ModelConfig, layer: number) => boolean) | undefined
  /** Where the file keeps more in one tensor: the first row that is meant, and how many there are. Packs keep each on its own. */
  readonly rowsOf?: RowsOf | undefined
  /** True for a vector that files may keep as rows. */
  readonly isFlat?: boolean | undefined
  /** What the file's values become when they are read; packs keep the result. */
  readonly change?: ((format: ModelFormat, config: ModelConfig) => ValueChange | undefined) | undefined
}

type RowsOf = (config: ModelConfig, format: ModelFormat) => readonly [first: number, all: number] | undefined

/** The rest of a row, for those that are not simply one tensor. */
export type RowExtra = Pick<TensorRow, 'rowsOf' | 'change' | 'isFlat'>

export function row(
  name: string,
  gguf: string,
  safetensors: string,
  shape: TensorRow['shape'],
  isIn?: TensorRow['isIn'],
  extra?: RowExtra,
): TensorRow {
  return { name, gguf, safetensors, shape, isIn, ...extra }
}

export const hidden = ({ hiddenSize }: ModelConfig) => [hiddenSize]
/** The vector of a matrix's outputs. */
export const first = (shape: TensorRow['shape']) => (config: ModelConfig) => shape(config).slice(0, 1)
