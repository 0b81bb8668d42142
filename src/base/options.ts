// Options. In: what a caller gave. Out: the same, short enough for a sentence, and the error that says what it must be.
import { HalfbyteError } from './errors.ts'

/** A foreign value, long or hostile perhaps, short enough for a sentence. Never throws, as `String(value)` does for `{ toString: 1 }`. */
export function shown(value: unknown): string {
  const text = written(value)
  return text.length <= 60 ? text : `${text.slice(0, 56)}...${text.at(-1)}`
}

function written(value: unknown): string {
  // JSON knows neither NaN nor Infinity nor 1n.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  try {
    return JSON.stringify(typeof value === 'string' ? value.slice(0, 60) : value) ?? String(value)
  } catch {
    // A circle, or too many levels for the stack.
    return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
  }
}

/** `wanted` goes on from "must be": `a whole number from 1`. */
export function wrongOption(name: string, value: unknown, wanted: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${name} is ${shown(value)} but must be ${wanted}; change it or leave it out`,
    { name },
  )
}
