// Lists. In: a value that a caller passed as a list. Out: nothing, or an error that says what is wrong with
// it.
import { wrongOption } from './options.ts'

export function checkList(name: string, value: unknown): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw wrongOption(name, value, 'a list')
}

export function checkTexts(name: string, value: unknown): void {
  checkList(name, value)
  for (const text of value) {
    if (typeof text !== 'string' || text === '')
      throw wrongOption(`a text in ${name}`, text, 'a text that is not empty')
  }
}
