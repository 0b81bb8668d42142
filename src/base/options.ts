// Options. In: a value that a caller passed. Out: a short text of it, and the error for a wrong option.
import { HalfbyteError } from './errors.ts'

/**
 * A short text of any value, for error messages. Never throws, not even for values like `{ toString: 1 }` for
 * which `String(value)` does.
 */
export function shown(value: unknown): string {
  const text = written(value)
  return text.length <= 60 ? text : `${text.slice(0, 56)}...${text.at(-1)}`
}

function written(value: unknown): string {
  // JSON has no NaN, Infinity or bigint.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  try {
    return JSON.stringify(typeof value === 'string' ? value.slice(0, 60) : value) ?? String(value)
  } catch {
    // The value is circular, or nested too deeply for the stack.
    return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
  }
}

/** `wanted` completes "must be", e.g. `a whole number from 1`. */
export function wrongOption(name: string, value: unknown, wanted: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${name} is ${shown(value)} but must be ${wanted}; change it or leave it out`,
    { name },
  )
}
