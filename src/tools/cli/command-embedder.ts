// Loads an encoder for the command line, in this process.

import type { GraphDtype } from '../../core/formats/names/graph-files.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import type { Embedder, Pooling } from '../../encoders/embedder/embedder.ts'
import { loadEmbedder } from './models/node-models.ts'
import { clearProgress, showProgress } from './terminal/output.ts'

export interface EncoderFlags {
  readonly maxTokens?: number
  readonly dtype?: GraphDtype
  readonly pooling?: Pooling
  readonly threads: number | 'auto'
  readonly weights: WeightPolicy
}

/** Loads a sentence encoder or a reranker. If the signal is aborted, it rejects with its reason. */
export const openEmbedder = (model: string, flags: EncoderFlags, signal: AbortSignal): Promise<Embedder> =>
  loadEmbedder(model, { ...encoderOptions(flags), signal, onProgress: showProgress }).finally(clearProgress)

/** Picks the encoder's options, because a command's flags may include others. */
const encoderOptions = ({ maxTokens, dtype, pooling, threads, weights }: EncoderFlags) => ({
  maxTokens,
  dtype,
  pooling,
  threads,
  weights,
})
