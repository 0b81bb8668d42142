// Options. In: what a caller gave. Out: the same, short enough for a sentence, and the error that says what it must be.
import { HalfbyteError } from './errors.ts'

/** A foreign value, long or hostile perhaps, short enough for a sentence. */
export function shown(value: unknown): string {
  let text: string
  try {
    text = JSON.stringify(value) ?? String(value)
  } catch {
    // Lists in lists without end, or in themselves.
    text = typeof value
  }
  return text.length <= 60 ? text : `${text.slice(0, 56)}...${text.at(-1)}`
}

/** `wanted` goes on from "must be": `a whole number from 1`. */
export function wrongOption(name: string, value: unknown, wanted: string): HalfbyteError {
  // JSON knows neither NaN nor Infinity.
  const given = typeof value === 'string' || typeof value === 'object' ? shown(value) : String(value)
  return new HalfbyteError(
    'unsupported',
    `${name} is ${given} but must be ${wanted}; change it or leave it out`,
    { name },
  )
}
