// Choices. In: texts. Out: a node that matches one of them; common prefixes are written once.
import type { Grammar, NodeId } from './grammar.ts'

/** Prefixes nested more deeply are left as alternatives. */
const MAX_DEPTH = 500

export function oneOf(grammar: Grammar, texts: readonly string[]): NodeId {
  const sorted = [...new Set(texts)].map((text) => Array.from(text)).toSorted(byChars)
  return branch(grammar, sorted, 0, 0)
}

function byChars(one: readonly string[], other: readonly string[]): number {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const difference = one[at]!.codePointAt(0)! - other[at]!.codePointAt(0)!
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

/** Matches one of the sorted texts. Their first `from` characters are equal and already matched. */
function branch(
  grammar: Grammar,
  texts: readonly (readonly string[])[],
  from: number,
  depth: number,
): NodeId {
  const rest = (text: readonly string[]) => grammar.text(text.slice(from).join(''))
  if (texts.length === 1 || depth >= MAX_DEPTH) return grammar.alt(...texts.map(rest))
  return grammar.alt(
    ...groups(texts, from).map((group) => {
      if (group[0]!.length === from) return grammar.empty
      const common = commonLength(group[0]!, group.at(-1)!)
      const head = group[0]!.slice(from, common).join('')
      return grammar.seq(grammar.text(head), branch(grammar, group, common, depth + 1))
    }),
  )
}

/** Groups sorted texts by their character at a position; texts that end there come first. */
function groups(texts: readonly (readonly string[])[], at: number): (readonly string[])[][] {
  const result: (readonly string[])[][] = []
  for (const text of texts) {
    const last = result.at(-1)
    if (last !== undefined && last[0]![at] === text[at]) last.push(text)
    else result.push([text])
  }
  return result
}

/** Number of characters that the first and the last of a sorted group share; all others share them too. */
function commonLength(first: readonly string[], last: readonly string[]): number {
  let length = 0
  while (length < first.length && length < last.length && first[length] === last[length]) length += 1
  return length
}
