// The texts of a request, each as a string or as token ids.
import { checkList, wrongOption } from '../../core/base/check-options.ts'

/** A text, or its ids. */
export type TextOrIds = string | readonly number[]

/**
 * One text or several. The model checks the ids. Throws `unsupported` for anything else; `wanted`: what the
 * field may be.
 */
export function textsOrIds(name: string, given: unknown, wanted: string): readonly TextOrIds[] {
  if (typeof given === 'string') return [given]
  if (Array.isArray(given) && given.length > 0) {
    checkList(name, given)
    if (given.every((each) => typeof each === 'number')) return [given]
    if (given.every((each) => typeof each === 'string' || Array.isArray(each))) return given
  }
  throw wrongOption(name, given, wanted)
}
