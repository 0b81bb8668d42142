// Lists. In: a value that a caller passed as a list. Out: nothing, or an error that says what is wrong with
// it.
import { wrongOption } from './options.ts'

/** A list without entries may claim to have four billion, and every step through it takes as long. */
const MOST_ITEMS = 1 << 20

export function checkList(
  name: string,
  value: unknown,
  most = MOST_ITEMS,
): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw wrongOption(name, value, 'a list')
  if (value.length > most) throw wrongOption(name, `a list of ${value.length}`, `a list of at most ${most}`)
}

export function checkTexts(name: string, value: unknown): void {
  checkList(name, value)
  for (const text of value) {
    if (typeof text !== 'string' || text === '')
      throw wrongOption(`a text in ${name}`, text, 'a text that is not empty')
  }
}
