// Keeps the ids of a conversation, so that every reply keeps its original ids in the next prompt.

import { areCounts, isCount, isObject } from '../../core/base/values.ts'
import type { InputRange } from '../../core/generate/schedule/input-rows.ts'
import { notSnapshot } from '../../core/state/snapshot.ts'
import { isMessage, isTextOrAbsent } from '../chat/messages.ts'
import type { SavedSession } from '../wire/protocol.ts'

interface SavedConversation extends SavedSession {
  readonly transcript: SavedTranscript
  /** The image rows that its tokens represent. Absent if there are none. */
  readonly pictures?: readonly InputRange[] | undefined
}

/** Checks that `value` has the form that `save` wrote. Otherwise throws `format`, naming the file. */
export function savedConversation(value: unknown, name: string): SavedConversation {
  if (isConversation(value)) return value
  throw notSnapshot({ name })
}

const isConversation = (value: unknown): value is SavedConversation =>
  isSavedSession(value) &&
  isTranscript((value as SavedConversation).transcript) &&
  areRanges((value as SavedConversation).pictures)

const areRanges = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) &&
    value.every(
      (range) =>
        isObject(range) &&
        isKey(range['key']) &&
        isCount(range['first']) &&
        isCount(range['count']) &&
        (range['columns'] === undefined || isCount(range['columns'])),
    ))

const isKey = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

export function isSavedSession(value: unknown): value is SavedSession {
  if (!isObject(value)) return false
  const { system, messages, contextUsed, overflow, keep } = value
  return (
    isTextOrAbsent(system) &&
    Array.isArray(messages) &&
    messages.every(isMessage) &&
    isCount(contextUsed) &&
    (overflow === undefined || overflow === 'error' || overflow === 'shift') &&
    (keep === undefined || isCount(keep))
  )
}

function isTranscript(value: unknown): value is SavedTranscript {
  if (!isObject(value)) return false
  const { text, ids, cuts } = value
  if (typeof text !== 'string' || !areCounts(ids) || !Array.isArray(cuts)) return false
  const isInside = (cut: unknown): boolean =>
    isObject(cut) &&
    isCount(cut['chars']) &&
    isCount(cut['tokens']) &&
    cut['chars'] <= text.length &&
    cut['tokens'] <= ids.length
  const rises = (key: string): boolean =>
    cuts.every((cut, index) => index === 0 || cut[key] >= cuts[index - 1][key])
  return cuts.every(isInside) && rises('chars') && rises('tokens')
}

/** A position in the text where the known ids end. */
interface Cut {
  readonly chars: number
  readonly tokens: number
}

/** How many of the latest cuts a run may end at. */
const NEWEST = 3

interface SavedTranscript {
  readonly text: string
  readonly ids: readonly number[]
  readonly cuts: readonly Cut[]
}

/**
 * The text that one session has read and written. Re-encoding a reply may give different ids than the model
 * chose, and its state would then be useless. So the known prefix of a prompt keeps its ids; only the text
 * after it is encoded.
 */
export interface Transcript {
  /**
   * Ids of `text`. `encode` is called with the new part of it, whether that part is the start of the prompt,
   * and the id before it. `isShortened`: a part in the middle of the known text was removed, and the rest
   * after it keeps its ids, too.
   */
  encode(
    text: string,
    encode: (rest: string, start: boolean, after: number | undefined) => readonly number[],
    isShortened?: boolean,
  ): readonly number[]
  /** Adds a reply to the last prompt. `text` is the text of `ids`, as the next prompt will contain it. */
  extend(text: string, ids: readonly number[]): void
  /** A second transcript with the same contents. */
  copy(): Transcript
  /** Plain JSON from which the same transcript can be restored. */
  toJSON(): SavedTranscript
}

const NEW: SavedTranscript = { text: '', ids: [], cuts: [] }

export function transcriptOf(saved = NEW): Transcript {
  let { text: known, ids } = saved
  // Cuts in ascending order.
  const cuts = [...saved.cuts]
  const toJSON = () => ({ text: known, ids, cuts })
  return {
    encode(text, encode, isShortened = false) {
      if (isShortened) shorten(text, (part) => encode(part, true, undefined))
      let cut = cuts.at(-1)
      while (cut !== undefined && !text.startsWith(known.slice(0, cut.chars))) {
        cuts.pop()
        cut = cuts.at(-1)
      }
      const { chars, tokens } = cut ?? { chars: 0, tokens: 0 }
      known = text.slice(0, chars)
      ids = ids.slice(0, tokens)
      const rest = text.slice(chars)
      // An empty prompt has BOS if the model begins texts with it.
      if (rest !== '' || tokens === 0) add(rest, encode(rest, tokens === 0, ids.at(-1)))
      return ids
    },
    extend(text, more) {
      if (text !== '') add(text, more)
    },
    copy: () => transcriptOf(toJSON()),
    toJSON,
  }

  /** Replaces the known text by the longest run between two cuts that `text` has after its beginning. */
  function shorten(text: string, encode: (part: string) => readonly number[]): void {
    for (const [index, first] of cuts.entries()) {
      // The newest text may be an answer's head, or an answer that the template has changed.
      for (const last of cuts
        .slice(index + 1)
        .slice(-NEWEST)
        .reverse()) {
        const run = known.slice(first.chars, last.chars)
        const at = text.indexOf(run)
        if (at < 1 || at >= first.chars) continue
        const head = encode(text.slice(0, at))
        known = text.slice(0, at) + run
        ids = [...head, ...ids.slice(first.tokens, last.tokens)]
        const moved = cuts.slice(index, cuts.indexOf(last) + 1).map(({ chars, tokens }) => ({
          chars: chars - first.chars + at,
          tokens: tokens - first.tokens + head.length,
        }))
        cuts.splice(0, cuts.length, ...moved)
        return
      }
    }
  }

  function add(text: string, more: readonly number[]): void {
    known += text
    ids = [...ids, ...more]
    cuts.push({ chars: known.length, tokens: ids.length })
  }
}
