// Puts Markdown between the two markers of a page of docs/.

export const BEGIN = '<!-- Written by npm run perf -- --docs: begin -->'
export const END = '<!-- Written by npm run perf -- --docs: end -->'

/** Throws when the page has not exactly one of each, in this order. */
export function replaceBetweenMarkers(page: string, text: string): string {
  const [before, rest, ...more] = page.split(BEGIN)
  const [, after, ...others] = rest?.split(END) ?? []
  if (before === undefined || after === undefined || more.length + others.length > 0) {
    throw new Error(`the page must have one line "${BEGIN}" and after it one line "${END}"`)
  }
  return `${before}${BEGIN}\n\n${text}\n\n${END}${after}`
}

/** What lies between the markers. */
export function betweenMarkers(page: string): string | undefined {
  return page.split(BEGIN)[1]?.split(END)[0]?.trim()
}
