// Search. In: conversations and a query. Out: the matches and their passages.
import type { Conversation, StoredMessage } from '../store/conversations.ts'

/** A passage, split at the match. */
interface Excerpt {
  readonly before: string
  readonly match: string
  readonly after: string
}

/** Characters shown before and after the match. */
const BEFORE = 24
const AFTER = 80

/** Conversations with all words of `query` in the title or the messages, ignoring case and accents. */
export function matching(conversations: readonly Conversation[], query: string): readonly Conversation[] {
  const words = wordsOf(query)
  if (words.length === 0) return conversations
  return conversations.filter(({ title, messages }) => {
    const text = plain([title, ...contentsOf(messages)].join('\n'))
    return words.every((word) => text.includes(word))
  })
}

/**
 * The first passage of the messages with a word of `query`, on one line. Words in the title do not count.
 * Undefined if there is none.
 */
export function excerptOf({ title, messages }: Conversation, query: string): Excerpt | undefined {
  const shown = plain(title)
  const words = wordsOf(query).filter((word) => !shown.includes(word))
  for (const content of words.length === 0 ? [] : contentsOf(messages)) {
    const text = plain(content)
    const found = words.map((word) => ({ word, at: text.indexOf(word) })).filter(({ at }) => at >= 0)
    const first = found.sort((a, b) => a.at - b.at)[0]
    if (first === undefined) continue
    const [from, to] = placesOf(content, first.at, first.at + first.word.length)
    return {
      before: `${from > BEFORE ? '…' : ''}${onOneLine(content.slice(Math.max(0, from - BEFORE), from))}`,
      match: content.slice(from, to),
      after: onOneLine(content.slice(to, to + AFTER)),
    }
  }
  return undefined
}

/** The texts of messages, then those of their other versions. */
const contentsOf = (messages: readonly StoredMessage[]): readonly string[] => [
  ...messages.map(({ content }) => content),
  ...messages.flatMap(({ others = [] }) => others.flatMap(contentsOf)),
]

const wordsOf = (query: string): string[] => plain(query).split(/\s+/).filter(Boolean)

const plain = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

const onOneLine = (text: string): string => text.replace(/\s+/g, ' ')

/** The range in `text` that corresponds to `start` to `end` of `plain(text)`, which may be shorter. */
function placesOf(text: string, start: number, end: number): readonly [number, number] {
  let read = 0
  let at = 0
  let from = 0
  for (const character of text) {
    const { length } = plain(character)
    // A combining mark belongs to the preceding letter.
    if (read >= end && length > 0) break
    if (read <= start && length > 0) from = at
    read += length
    at += character.length
  }
  return [from, at]
}
