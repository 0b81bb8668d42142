// Finds the dead links of a built site and the pages that contain them.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

const LINK = /\s(?:href|src)="([^"]+)"/g
const ID = /\sid="([^"]+)"/g
const unescaped = (text) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"')

/**
 * Checks every HTML page: the file of each link within the site must exist, and so must the element after
 * the #. `base` is the path at which the site will be served.
 */
export function deadLinks(folder, base = '/') {
  const pages = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.html'))
    .map((name) => join(folder, name))
  const texts = new Map(pages.map((page) => [page, readFileSync(page, 'utf8')]))
  const ids = new Map(
    [...texts].map(([page, text]) => [page, new Set([...text.matchAll(ID)].map(([, id]) => id))]),
  )
  const dead = []
  for (const [page, text] of texts) {
    const address = `https://site.invalid${base}${relative(folder, page).replaceAll(sep, '/')}`
    for (const [, link] of text.matchAll(LINK)) {
      const { origin, pathname, hash } = new URL(unescaped(link), address)
      if (origin !== 'https://site.invalid') continue
      const target = fileOf(join(folder, decodeURIComponent(pathname).slice(base.length)))
      const id = decodeURIComponent(hash.slice(1))
      const isThere = target !== undefined && (id === '' || ids.get(target)?.has(id) !== false)
      if (!isThere) dead.push(`${relative(folder, page)}: ${link}`)
    }
  }
  return [...new Set(dead)]
}

/** The file that a static server sends for a path. */
function fileOf(path) {
  return [path, join(path, 'index.html'), `${path}.html`].find(
    (file) => existsSync(file) && statSync(file).isFile(),
  )
}
