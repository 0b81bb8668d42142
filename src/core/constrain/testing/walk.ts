// Random texts of a language. In: a language and a random source. Out: a text of it, found byte by byte.
import { memo } from '../../base/values.ts'
import { DEAD, type StateId } from '../automaton.ts'
import type { Language } from './language.ts'
import type { Chance } from './random-schema.ts'

const MAX_BYTES = 3000
/** Bytes that bring a JSON text closer to its end. */
const CLOSING = new Set(Array.from('"]}', (char) => char.charCodeAt(0)))

/** A text of the language; undefined if it does not end. Throws if it gets stuck, which must never happen. */
export const randomText = (language: Language, chance: Chance): string | undefined =>
  new TextDrawer(language, chance).text('')

/** Draws many texts of one language. Caches which bytes may follow each state. */
export class TextDrawer {
  readonly #language: Language
  readonly #chance: Chance
  readonly #next = new Map<StateId, { readonly hasEnd: boolean; readonly bytes: Uint8Array }>()

  constructor(language: Language, chance: Chance) {
    this.#language = language
    this.#chance = chance
  }

  /** Completes `begin` at random. Returns undefined if the text grows too long. Throws if it gets stuck. */
  text(begin: string): string | undefined {
    const bytes = [...new TextEncoder().encode(begin)]
    let state = this.#language.after(begin)
    while (bytes.length < MAX_BYTES) {
      const { hasEnd, bytes: next } = this.#after(state)
      if (hasEnd && (next.length === 0 || this.#chance() < 0.4)) return decode(bytes)
      if (next.length === 0) throw new Error(`stuck after ${JSON.stringify(decode(bytes))}`)
      const closing = next.filter((byte) => CLOSING.has(byte))
      const from =
        closing.length > 0 && this.#chance() < Math.min(0.9, 0.1 + bytes.length / 300) ? closing : next
      const byte = from[Math.floor(this.#chance() * from.length)]!
      bytes.push(byte)
      state = this.#language.automaton.step(state, byte)
    }
    return undefined
  }

  #after(state: StateId) {
    return memo(this.#next, state, () => {
      const { automaton } = this.#language
      automaton.work.renew()
      const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte).filter(
        (byte) => automaton.step(state, byte) !== DEAD,
      )
      return { hasEnd: automaton.closure(state).hasEnd, bytes }
    })
  }
}

function decode(bytes: readonly number[]): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))
}
