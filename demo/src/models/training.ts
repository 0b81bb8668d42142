// A model's training. In: the chosen model. Out: the facts that its answers depend on. This module loads with
// the code for answers.
import type { ModelChoice } from './embedded.ts'

export interface Training {
  /** Whether it was trained to use the page's tools. */
  readonly usesTools: boolean
  /** Whether the model can only tell stories and make small talk, in English. */
  readonly isStoryteller: boolean
  /** Addresses of the logit processors of each answer. */
  readonly processors: readonly string[]
}

/** The page knows nothing about other models. */
export function trainingOf(choice: ModelChoice): Training {
  if (choice.kind !== 'embedded') return { usesTools: false, isStoryteller: false, processors: [] }
  const { usesTools = false, isStoryteller = false, processors = [] } = choice
  const addresses = processors.map((address) => new URL(address, document.baseURI).href)
  return { usesTools, isStoryteller, processors: addresses }
}
