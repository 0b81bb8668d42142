// Converts a pattern from Python, or from JavaScript without flags, to JavaScript with the `u` flag.

/** Anchors for the whole text, and escapes that JavaScript lacks. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['A', '^'],
  ['Z', '$'],
  ['z', '$'],
  ['a', '\\x07'],
])
/**
 * Characters that keep their backslash: syntax, letters and digits. Meaningless escapes are still rejected,
 * as in both languages.
 */
const ESCAPED = /^[\^$\\.*+?()[\]{}|/\dA-Za-z]?$/
/** The counts of a repetition. */
const COUNTS = /^\{\d+(?:,\d*)?\}/
/** A code point in Python's eight digits. */
const POINT = /^\\U00([\dA-Fa-f]{6})/
const COMMENT = /^\(\?#[^)]*\)/
const CLASS_ESCAPE = /^\\[dDsSwWpP]/

/**
 * The same pattern for the `u` flag: converts `\A`, `\Z`, `\U0001F600`, `(?P<name>..)`, `(?#..)`, needless
 * escapes, and literal brackets and hyphens.
 */
export function modernPattern(source: string): string {
  let pattern = ''
  let inClass = false
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at)
    const char = rest[0]!
    const point = POINT.exec(rest)?.[1]
    const comment = inClass ? undefined : COMMENT.exec(rest)?.[0]
    if (point !== undefined) {
      pattern += `\\u{${point}}`
      at += 10
    } else if (comment !== undefined) at += comment.length
    else if (char === '\\') {
      const next = rest[1] ?? ''
      const other = inClass ? undefined : ESCAPES.get(next)
      pattern += other ?? (ESCAPED.test(next) || (inClass && next === '-') ? `\\${next}` : next)
      at += 2
    } else if (inClass) {
      const isLiteral = char === '[' || (char === '-' && isHyphen(source, at))
      pattern += isLiteral ? `\\${char}` : char
      inClass = char !== ']'
      at += 1
    } else if (rest.startsWith('(?P<')) {
      pattern += '(?<'
      at += 4
    } else {
      const counts = COUNTS.exec(rest)?.[0]
      pattern += counts ?? (/[\]{}]/.test(char) ? `\\${char}` : char)
      inClass = char === '['
      at += counts?.length ?? 1
      // In Python, a bracket directly after the opening one is a member.
      if (inClass) {
        const first = /^\^?\]/.exec(source.slice(at))?.[0]
        if (first !== undefined && source.indexOf(']', at + first.length) > 0) {
          pattern += first.replace(']', '\\]')
          at += first.length
        }
      }
    }
  }
  return pattern
}

/** Whether a hyphen in a class stands next to a class escape and therefore does not form a range. */
function isHyphen(source: string, at: number): boolean {
  return CLASS_ESCAPE.test(source.slice(at + 1)) || CLASS_ESCAPE.test(source.slice(Math.max(0, at - 2), at))
}
