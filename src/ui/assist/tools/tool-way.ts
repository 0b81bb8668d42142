// Chooses how a model is given tools.
import type { ModelInfo } from '../../../engine/api/types.ts'

/** Models with fewer weights choose wrong tools and miscopy results: lab/measurements/real-models.md. */
const LEAST = 3e8
/**
 * Models with fewer weights call tools for anything once a template describes some, even for the capital of
 * France.
 */
const LEAST_FOR_TEMPLATE = 1e9

/**
 * How a model should be given tools. `template`: described by its own chat template, for several calls per
 * answer. `chosen`: by `chooseCall` before the answer. `none`: the model is too small for either.
 */
export type ToolWay = 'template' | 'chosen' | 'none'

/** How a model of this size, with or without a template that describes tools, should be given tools. */
export function toolWay({ parameters, readsTools }: Pick<ModelInfo, 'parameters' | 'readsTools'>): ToolWay {
  if (parameters < LEAST) return 'none'
  return readsTools && parameters >= LEAST_FOR_TEMPLATE ? 'template' : 'chosen'
}
