// The visible text of a web page.

const UNSEEN = 'script, style, noscript, template, svg, head, nav, [hidden]'
const BLOCKS =
  'address, article, aside, blockquote, dd, div, dl, dt, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hr, li, main, ol, p, pre, section, table, td, th, tr, ul'

/** Paragraphs separated by empty lines, below the page's title. Nothing in the page is run or loaded. */
export function htmlText(source: string): string {
  const page = new DOMParser().parseFromString(source, 'text/html')
  const { title } = page
  for (const element of page.querySelectorAll(UNSEEN)) element.remove()
  for (const element of page.querySelectorAll('br')) element.replaceWith('\n')
  for (const element of page.querySelectorAll(BLOCKS)) {
    element.before('\n\n')
    element.after('\n\n')
  }
  const lines = (page.body.textContent ?? '').split('\n').map((line) => line.replaceAll(/\s+/g, ' ').trim())
  return [title.trim(), ...lines]
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}
