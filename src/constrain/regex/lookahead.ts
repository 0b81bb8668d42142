// Lookahead. In: a pattern's tree without anchors. Out: a tree without lookaheads of the same whole texts.
//
// A lookahead restricts the rest of the text: (?=A)B is the intersection of A... and B, (?!A)B is B without
// A.... So the rest of the pattern is moved into the place where the lookahead stands.
import { refused } from '../refuse.ts'
import { NOTHING, type Regex } from './syntax.ts'

/** Most repetitions of a part with a lookahead in it: each becomes a part of its own. */
const MAX_UNROLLED = 16

/** Throws `unsupported` for a lookahead within a longer repetition. */
export function withoutLookahead(regex: Regex): Regex {
  return hasLookahead(regex) ? before(NOTHING, regex) : regex
}

/** The texts of `node` before those of `rest`. */
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
