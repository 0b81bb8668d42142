// Families. In: hyperparameters. Out: the graph that the model's family builds from them.
import type { Graph } from '../graph/ir.ts'
import type { Family, ModelConfig } from './config.ts'
import { granitehybrid } from './granitehybrid.ts'
import { llama } from './llama.ts'
import { mamba } from './mamba.ts'
import { mamba2 } from './mamba2.ts'
import { qwen2 } from './qwen2.ts'

const BUILDERS: Readonly<Record<Family, (config: ModelConfig) => Graph>> = {
  llama: (config) => llama(config),
  qwen2,
  mamba,
  mamba2,
  granitehybrid,
}

/** One step of the model, before any pass. */
export function buildGraph(config: ModelConfig): Graph {
  return BUILDERS[config.family](config)
}
