// People in need. In: a user's message. Out: what they may need help with, and their language. The interface
// then answers by itself instead of the model.
import { needByClassifier } from './classifier/need-by-classifier.ts'
import { withoutFiction } from './fiction.ts'
import { folded } from './fold.ts'
import { needByPatterns } from './patterns/need-by-patterns.ts'
import type { Need, RecognizedNeed } from './patterns/pattern-set.ts'

export type { Need, RecognizedNeed }

/**
 * What the writer, or someone they know, may need help with: suicide and self-harm, a medical emergency, or
 * violence. Understands 19 languages. Undefined for other messages, and for events in stories and games.
 * Patterns find what is said plainly, a classifier what is only meant.
 */
export function recognizeNeed(text: string): RecognizedNeed | undefined {
  const said = withoutFiction(folded(text))
  return needByPatterns(said) ?? needByClassifier(said)
}
