// Small vocabularies for tests. In: texts. Out: every byte and these texts as tokens, one control token and
// one end token.
import type { ModelVocabulary } from '../compile.ts'

export interface SmallVocabulary extends ModelVocabulary {
  /** Number of ids in the logits. */
  readonly vocab: number
  readonly endId: number
  /** A token without text: `<think>`. */
  readonly controlId: number
  readonly endIds: ReadonlySet<number>
  /** Ids of a text, preferring the longest tokens. */
  encode(text: string): number[]
}

const encoder = new TextEncoder()
const key = (bytes: Uint8Array) => bytes.join()

/**
 * The first 256 ids are the bytes, followed by the texts, `<think>` and the end. The row of logits is longer
 * still.
 */
export function smallVocabulary(texts: readonly (string | readonly number[])[]): SmallVocabulary {
  const tokens = [
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...texts.map((text) => (typeof text === 'string' ? encoder.encode(text) : Uint8Array.from(text))),
  ]
  const ids = new Map(tokens.map((bytes, id) => [key(bytes), id]))
  const controlId = tokens.length
  const endId = controlId + 1
  return {
    vocabSize: endId + 1,
    vocab: endId + 7,
    endId,
    controlId,
    endIds: new Set([endId]),
    tokenBytes: (id) => tokens[id] ?? encoder.encode('<special>'),
    isSpecial: (id) => id === controlId || id === endId,
    idOf: (text) => (text === '<think>' ? controlId : ids.get(key(encoder.encode(text)))),
    encode(text) {
      const bytes = encoder.encode(text)
      const found: number[] = []
      for (let at = 0; at < bytes.length; ) {
        let length = Math.min(24, bytes.length - at)
        while (!ids.has(key(bytes.subarray(at, at + length)))) length -= 1
        found.push(ids.get(key(bytes.subarray(at, at + length)))!)
        at += length
      }
      return found
    },
  }
}

/** The ids whose bits are set. */
export function allowed(mask: Uint32Array): number[] {
  const ids: number[] = []
  for (let id = 0; id < mask.length * 32; id++) if (((mask[id >> 5]! >>> (id & 31)) & 1) === 1) ids.push(id)
  return ids
}
