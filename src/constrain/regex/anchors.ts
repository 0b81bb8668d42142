// Anchors. In: a pattern's tree. Out: a tree without ^ and $ that describes the same whole texts.
import { refused } from '../refuse.ts'
import { ANYTHING, NOTHING, type Regex } from './syntax.ts'

/**
 * The texts that contain a match of the pattern, as `pattern` in JSON Schema means it. Throws `unsupported`.
 */
export function found(pattern: Regex): Regex {
  return place(pattern, ANYTHING, ANYTHING)
}

/** The texts that the pattern matches as a whole. Throws `unsupported` for an anchor in the middle. */
export function whole(pattern: Regex): Regex {
  return place(pattern, NOTHING, NOTHING)
}

/**
 * The pattern with the text that may stand before and after it. A side is undefined if other parts of the
 * pattern stand there, and NOTHING if an anchor has closed it.
 */
function place(node: Regex, left: Regex | undefined, right: Regex | undefined): Regex {
  switch (node.type) {
    case 'start':
      if (left === undefined) throw inside('^')
      return right ?? NOTHING
    case 'end':
      if (right === undefined) throw inside('$')
      return left ?? NOTHING
    case 'alt':
      return { type: 'alt', options: node.options.map((option) => place(option, left, right)) }
    case 'seq':
      return placeParts(node.parts, left, right)
    case 'repeat':
      // Anchors are not allowed inside a repetition.
      place(node.body, undefined, undefined)
      return around(left, node, right)
    case 'chars':
      return around(left, node, right)
    default:
      return node satisfies never
  }
}

function placeParts(parts: readonly Regex[], left: Regex | undefined, right: Regex | undefined): Regex {
  if (left !== undefined && parts[0]?.type === 'start') return placeParts(parts.slice(1), NOTHING, right)
  if (right !== undefined && parts.at(-1)?.type === 'end') {
    return placeParts(parts.slice(0, -1), left, NOTHING)
  }
  if (parts.length === 0) return left === ANYTHING ? left : (right ?? NOTHING)
  const last = parts.length - 1
  const placed = parts.map((part, index) =>
    place(part, index === 0 ? left : undefined, index === last ? right : undefined),
  )
  return { type: 'seq', parts: placed }
}

function around(left: Regex | undefined, node: Regex, right: Regex | undefined): Regex {
  const parts = [left ?? NOTHING, node, right ?? NOTHING].filter((part) => part !== NOTHING)
  return parts.length === 1 ? node : { type: 'seq', parts }
}

function inside(anchor: string): Error {
  return refused(`has a pattern with ${anchor} inside it`, `put ${anchor} at the edge of the pattern`, {
    anchor,
  })
}
