// The function that a reranker's configuration names for turning its last output into a score.
import { Fields, unbuiltVariant } from '../../core/arch/config/fields.ts'
import { shown } from '../../core/formats/malformed.ts'
import type { ModelFile } from '../../core/formats/readers.ts'

export type ScoreActivation = (score: number) => number

const ACTIVATIONS: ReadonlyMap<string, ScoreActivation> = new Map([
  ['Identity', (score) => score],
  ['Sigmoid', (score) => 1 / (1 + Math.exp(-score))],
])

/** Keyed by the class in sentence-transformers' configuration. Default: a sigmoid, as in that library. */
export function activationOf({ name, metadata }: Pick<ModelFile, 'name' | 'metadata'>): ScoreActivation {
  const config = new Fields(name, (key) => metadata.get(key)).record('config')
  const written =
    config?.record('sentence_transformers')?.text('activation_fn', '') ||
    config?.text('sbert_ce_default_activation_function', '')
  const kind = written ? written.split('.').at(-1) : 'Sigmoid'
  const activation = ACTIVATIONS.get(kind ?? '')
  if (activation !== undefined) return activation
  throw unbuiltVariant(name, `scores by ${shown(written ?? '')}`, [...ACTIVATIONS.keys()].join(' or '))
}
