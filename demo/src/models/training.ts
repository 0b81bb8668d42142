// A model's training. In: the chosen model. Out: what its answers need. It loads with the code for answers.
import type { ModelChoice } from './embedded.ts'

export interface Training {
  /** Whether it was trained to use the page's tools. */
  readonly usesTools: boolean
  /** False if it is known not to answer from what it reads in files. */
  readonly readsFiles: boolean
  /** Whether it knows only English. */
  readonly isEnglish: boolean
  /** Addresses of the logit processors of each answer. */
  readonly processors: readonly string[]
}

/** The page knows nothing about other models. */
export function trainingOf(choice: ModelChoice): Training {
  if (choice.kind !== 'embedded')
    return { usesTools: false, readsFiles: true, isEnglish: false, processors: [] }
  const { usesTools = false, readsFiles = false, isEnglish = false, processors = [] } = choice
  const addresses = processors.map((address) => new URL(address, document.baseURI).href)
  return { usesTools, readsFiles, isEnglish, processors: addresses }
}
