// Replaces the Markdown between two markers of a document.

/** The command that writes the tables of lab/measurements/performance.md. */
const PERF = 'npm run perf -- --docs'
const beginOf = (command: string) => `<!-- Written by ${command}: begin -->`
const endOf = (command: string) => `<!-- Written by ${command}: end -->`

export const BEGIN = beginOf(PERF)
export const END = endOf(PERF)

/**
 * Throws unless the page has exactly one of each marker, in this order. `command`: the command named in the
 * markers.
 */
export function replaceBetweenMarkers(page: string, text: string, command = PERF): string {
  const begin = beginOf(command)
  const end = endOf(command)
  const [before, rest, ...more] = page.split(begin)
  const [, after, ...others] = rest?.split(end) ?? []
  if (before === undefined || after === undefined || more.length + others.length > 0) {
    throw new Error(`the page must have one line "${begin}" and after it one line "${end}"`)
  }
  return `${before}${begin}\n\n${text}\n\n${end}${after}`
}

/** The text between the markers that name `command`. */
export function betweenMarkers(page: string, command = PERF): string | undefined {
  return page.split(beginOf(command))[1]?.split(endOf(command))[0]?.trim()
}
