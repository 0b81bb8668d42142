// Qwen2. In: hyperparameters. Out: the graph of one step: Llama's, with biases on Q, K and V.
import type { Graph } from '../graph/ir.ts'
import type { ModelConfig } from './config.ts'
import { llama } from './llama.ts'

/** Qwen2 and Qwen2.5, dense. */
export function qwen2(config: ModelConfig): Graph {
  return llama(config, { qkvBias: true })
}
