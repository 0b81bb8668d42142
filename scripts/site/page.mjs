// Turns a document of the repository into a page of the site.
import { posix } from 'node:path'

/** Links in brackets, with the text, the path and the part after a #. URLs with a scheme are left alone. */
const LINK = /(!?)\[((?:[^\]\n]|\n(?!\n))*)\]\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)/g
const IMAGE = /(<img\b[^>]*\bsrc=")(?![a-z]+:)([^"]+)"/g
/** A code block with its fences. The capture group makes `split` keep it. */
const BLOCK = /^((?:```|~~~)[\s\S]*?^(?:```|~~~)[^\n]*)/m

/**
 * Turns links to documents into links between pages. The site has no source files, so a link to one becomes
 * plain text. `from` and the keys of `places` are paths from the repository's root.
 */
export function sitePage(text, from, places) {
  const here = posix.dirname(places.get(from))
  const follow = (whole, image, label, path, anchor = '') => {
    if (path === '') return whole
    const target = posix.join(posix.dirname(from), path)
    if (image === '!' || target.startsWith('docs/images/') || target.endsWith('.svg')) {
      const place = target.replace(/^(?:docs|lab)\//, '')
      return `${image}[${label}](${relative(here, place)})`
    }
    const place = places.get(target)
    return place === undefined ? label : `[${label}](${relative(here, place)}${anchor})`
  }
  const show = (_, start, path) => {
    const target = posix.join(posix.dirname(from), path)
    return `${start}${relative(here, target.replace(/^(?:docs|lab)\//, ''))}"`
  }
  return relinked(text, follow, show)
}

/** Rewrites links outside of code blocks: Markdown links with `follow`, addresses of `<img>` with `show`. */
export function relinked(text, follow, show) {
  // A link may span two lines, so the text between two code blocks is processed as one piece.
  return text
    .split(BLOCK)
    .map((piece, index) => (index % 2 === 1 ? piece : piece.replace(LINK, follow).replace(IMAGE, show)))
    .join('')
}

const relative = (from, to) => {
  const path = posix.relative(from, to)
  return path.startsWith('.') ? path : `./${path}`
}
