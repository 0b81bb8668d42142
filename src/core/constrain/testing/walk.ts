// Random texts of a language. In: a language and a source of chance. Out: a text of it, found byte by byte.
import { DEAD } from '../automaton.ts'
import type { Language } from './language.ts'
import type { Chance } from './random-schema.ts'

const MOST_BYTES = 3000
/** Bytes that bring a JSON text nearer to its end. */
const CLOSING = new Set(Array.from('"]}', (char) => char.charCodeAt(0)))

/**
 * A text of the language; undefined when it found no end. Throws when it gets stuck, which no grammar may.
 */
export function randomText(language: Language, chance: Chance): string | undefined {
  const { automaton } = language
  const bytes: number[] = []
  let state = automaton.start
  while (bytes.length < MOST_BYTES) {
    automaton.work.renew()
    const { hasEnd } = automaton.closure(state)
    const next: number[] = []
    for (let byte = 0; byte < 256; byte++) if (automaton.step(state, byte) !== DEAD) next.push(byte)
    if (hasEnd && (next.length === 0 || chance() < 0.4)) return decode(bytes)
    if (next.length === 0) throw new Error(`stuck after ${JSON.stringify(decode(bytes))}`)
    const closing = next.filter((byte) => CLOSING.has(byte))
    const from = closing.length > 0 && chance() < Math.min(0.9, 0.1 + bytes.length / 300) ? closing : next
    const byte = from[Math.floor(chance() * from.length)]!
    bytes.push(byte)
    state = automaton.step(state, byte)
  }
  return undefined
}

function decode(bytes: readonly number[]): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))
}
