// The last choice. In: data from the last visit. Out: the model to load at startup.
import { readItem } from '../shell/storage.ts'
import { DEFAULT, EMBEDDED, type ModelChoice } from './embedded.ts'

/** Key of the last model's name or address. */
export const LAST = 'halfbyte-last-model'

/** The model that was loaded last, unless that was a file, which cannot be opened again. */
export function lastChoice(): ModelChoice {
  const last = readItem(LAST)
  if (last === undefined) return DEFAULT
  return EMBEDDED.find(({ name }) => name === last) ?? { kind: 'address', address: last }
}
