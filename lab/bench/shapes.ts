// The shapes of the models that benches imitate, by name.

/** Sizes of a model with tied embeddings. */
export interface Shape {
  readonly name: string
  /**
   * `qwen2` has biases on queries, keys and values, and rotates halves; `llama` has none, and rotates
   * adjacent pairs. `mamba` has neither attention nor an MLP, but `recurrent` layers.
   */
  readonly family: 'llama' | 'qwen2' | 'mamba'
  readonly recurrent?: RecurrentShape
  readonly hiddenSize: number
  readonly layers: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly intermediateSize: number
  readonly vocabSize: number
  readonly ropeBase: number
  readonly normEpsilon: number
}

export interface RecurrentShape {
  readonly innerSize: number
  readonly stateSize: number
  readonly convKernel: number
  readonly timeStepRank: number
}

export const SMOLLM2_135M: Shape = {
  name: 'smollm2-135m',
  family: 'llama',
  hiddenSize: 576,
  layers: 30,
  heads: 9,
  kvHeads: 3,
  headDim: 64,
  intermediateSize: 1536,
  vocabSize: 49152,
  ropeBase: 1e5,
  normEpsilon: 1e-5,
}

export const QWEN_05B: Shape = {
  name: 'qwen2.5-0.5b',
  family: 'qwen2',
  hiddenSize: 896,
  layers: 24,
  heads: 14,
  kvHeads: 2,
  headDim: 64,
  intermediateSize: 4864,
  vocabSize: 151936,
  ropeBase: 1e6,
  normEpsilon: 1e-6,
}

export const LLAMA_1B: Shape = {
  name: 'llama-3.2-1b',
  family: 'llama',
  hiddenSize: 2048,
  layers: 16,
  heads: 32,
  kvHeads: 8,
  headDim: 64,
  intermediateSize: 8192,
  vocabSize: 128256,
  ropeBase: 5e5,
  normEpsilon: 1e-5,
}

const MAMBA_130M: Shape = {
  name: 'mamba-130m',
  family: 'mamba',
  hiddenSize: 768,
  layers: 24,
  heads: 0,
  kvHeads: 0,
  headDim: 0,
  intermediateSize: 0,
  vocabSize: 50280,
  ropeBase: 1e4,
  normEpsilon: 1e-5,
  recurrent: { innerSize: 1536, stateSize: 16, convKernel: 4, timeStepRank: 48 },
}

/** A model that runs in seconds, for tests of the harness. */
export const TINY: Shape = {
  name: 'tiny',
  family: 'qwen2',
  hiddenSize: 64,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 32,
  intermediateSize: 96,
  vocabSize: 512,
  ropeBase: 1e4,
  normEpsilon: 1e-6,
}

export const SHAPES: readonly Shape[] = [SMOLLM2_135M, QWEN_05B, LLAMA_1B, MAMBA_130M, TINY]

/** Number of weights, with the tied table counted once. */
export function parametersOf(shape: Shape): number {
  const { hiddenSize, layers, heads, kvHeads, headDim, intermediateSize, vocabSize } = shape
  if (shape.recurrent !== undefined) {
    const { innerSize, stateSize, convKernel, timeStepRank } = shape.recurrent
    const projections = 3 * hiddenSize + 2 * timeStepRank + 2 * stateSize
    return vocabSize * hiddenSize + layers * innerSize * (projections + stateSize + convKernel)
  }
  const attention = hiddenSize * headDim * (2 * heads + 2 * kvHeads)
  return vocabSize * hiddenSize + layers * (attention + 3 * hiddenSize * intermediateSize)
}
