// Removes anchors and lookaheads from a pattern's tree. The new tree matches the same texts as a whole.
import { refused } from '../refuse.ts'
import { ANYTHING, NOTHING, type Regex } from './syntax.ts'

/** Maximum number of repetitions of a part that contains a lookahead: each becomes a separate part. */
const MAX_UNROLLED = 16

/** Throws `unsupported` for a lookahead within a longer repetition. */
function withoutLookahead(regex: Regex): Regex {
  return hasLookahead(regex) ? before(NOTHING, regex) : regex
}

/** The texts of `node` followed by those of `rest`. */
function before(rest: Regex, node: Regex): Regex {
  if (!hasLookahead(node)) return { type: 'seq', parts: [node, rest] }
  switch (node.type) {
    case 'ahead': {
      const seen = withoutLookahead(node.body)
      return node.isNegated
        ? { type: 'meet', within: [rest], outside: [seen] }
        : { type: 'meet', within: [rest, seen], outside: [] }
    }
    case 'seq':
      return node.parts.reduceRight(before, rest)
    case 'alt':
      return { type: 'alt', options: node.options.map((option) => before(rest, option)) }
    case 'repeat': {
      const { body, min, max } = node
      if (max > MAX_UNROLLED) {
        throw refused(
          `has a pattern with a lookahead that may be repeated more than ${MAX_UNROLLED} times`,
          'put the lookahead before the repetition',
        )
      }
      let result = rest
      for (let count = max; count > 0; count--) {
        const taken = before(result, body)
        result = count > min ? { type: 'alt', options: [taken, rest] } : taken
      }
      return result
    }
    default:
      return { type: 'seq', parts: [node, rest] }
  }
}

function hasLookahead(node: Regex): boolean {
  switch (node.type) {
    case 'ahead':
      return true
    case 'seq':
      return node.parts.some(hasLookahead)
    case 'alt':
      return node.options.some(hasLookahead)
    case 'repeat':
      return hasLookahead(node.body)
    default:
      return false
  }
}

/** The texts that contain a match of the pattern, as JSON Schema defines `pattern`. Throws `unsupported`. */
export function found(pattern: Regex): Regex {
  return withoutLookahead(place(pattern, ANYTHING, ANYTHING))
}

/** The texts that the pattern matches as a whole. Throws `unsupported` for an anchor in the middle. */
export function whole(pattern: Regex): Regex {
  return withoutLookahead(place(pattern, NOTHING, NOTHING))
}

/**
 * The pattern with the text that may come before and after it. A side is undefined if other parts of the
 * pattern are on that side, and NOTHING if an anchor closes it.
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
      return around(left, { ...node, body: place(node.body, undefined, undefined) }, right)
    case 'ahead': {
      // The text that the lookahead describes begins here, and anything may follow it.
      const body = place(node.body, left === NOTHING ? NOTHING : undefined, ANYTHING)
      return around(left, { ...node, body }, right)
    }
    case 'chars':
    case 'meet':
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
  const [first, ...rest] = parts
  if (first?.type === 'ahead' && rest.length > 0) {
    // A lookahead consumes no text, so the part after it is at the same edge of the pattern.
    const edge = left === NOTHING ? NOTHING : undefined
    return { type: 'seq', parts: [place(first, left, undefined), placeParts(rest, edge, right)] }
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
  return refused(`has a pattern with ${anchor} in the middle`, `put ${anchor} at the edge of the pattern`, {
    anchor,
  })
}
