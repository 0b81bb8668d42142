// The package's documents. In: the Markdown files that it contains. Out: the same files, whose links to files
// outside of the package lead to the repository.
//
// npm runs `--pack` before it packs this folder and `--restore` afterwards.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../pinned-node.mjs'
import { relinked } from '../site/page.mjs'

const ORIGINALS = 'build/package-originals'
/** npm packs these whatever `files` says. */
const ALWAYS = ['README.md', 'LICENSE', 'package.json']

/** The build copies the cards of the models. */
const shippedAs = (path) => path.replace(/^demo\/models\//, 'dist/models/')
const sourceOf = (path) => path.replace(/^dist\/models\//, 'demo/models/')

/** Returns whether the package contains `path`, by the field `files` of package.json. */
export function contains({ files }, path) {
  const isIn = (place) => path === place || path.startsWith(`${place}/`)
  const excluded = files.filter((place) => place.startsWith('!')).map((place) => place.slice(1))
  return [...ALWAYS, ...files].some(isIn) && !excluded.some(isIn)
}

/** The package's Markdown files in `folder`, as paths from there. */
const documentsIn = (folder, manifest) =>
  ['README.md', ...manifest.files]
    .filter((place) => !place.startsWith('!') && existsSync(join(folder, place)))
    .flatMap((place) => {
      if (place.endsWith('.md')) return [place]
      const names = readdirSync(join(folder, place), { recursive: true, encoding: 'utf8' })
      return names.map((name) => posix.join(place, name.replaceAll('\\', '/')))
    })
    .filter((path) => path.endsWith('.md') && contains(manifest, path))

/** The text of the document at `path`, with links that work in the package. */
export function packedText(text, path, manifest) {
  const home = manifest.homepage.replace(/#readme$/, '')
  // A link in a copied card is relative to its original.
  const targetOf = (link) => posix.join(posix.dirname(sourceOf(path)), link)
  const follow = (whole, image, label, link, anchor = '') => {
    if (link === '') return whole
    const target = targetOf(link).replace(/\/$/, '')
    const place = shippedAs(target)
    if (contains(manifest, place)) {
      const relative = posix.relative(posix.dirname(path), place)
      return `${image}[${label}](${relative}${anchor})`
    }
    const kind = image === '!' ? 'raw' : /\.\w+$/.test(target) || target === 'LICENSE' ? 'blob' : 'tree'
    return `${image}[${label}](${home}/${kind}/HEAD/${target}${anchor})`
  }
  const show = (_, start, link) => `${start}${home}/raw/HEAD/${targetOf(link)}"`
  return relinked(text, follow, show)
}

/** Rewrites the documents in `folder`. `keep` gets each path and text that changes, before it does. */
export function packDocuments(folder, keep = () => undefined) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  for (const path of documentsIn(folder, manifest)) {
    const before = readFileSync(join(folder, path), 'utf8')
    const after = packedText(before, path, manifest)
    if (after === before) continue
    keep(path, before)
    writeFileSync(join(folder, path), after)
  }
}

/** Rewrites the documents in `folder`, and keeps the originals in its build folder. */
export function packInPlace(folder) {
  restoreDocuments(folder)
  packDocuments(folder, (path, text) => {
    const original = join(folder, ORIGINALS, path)
    mkdirSync(dirname(original), { recursive: true })
    writeFileSync(original, text)
  })
}

/**
 * Puts the originals back, also after a `packInPlace` that was interrupted. Documents that have changed since
 * then stay as they are.
 */
export function restoreDocuments(folder) {
  const originals = join(folder, ORIGINALS)
  if (!existsSync(originals)) return
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  for (const entry of readdirSync(originals, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const kept = join(entry.parentPath, entry.name)
    const path = kept.slice(originals.length + 1).replaceAll('\\', '/')
    const before = readFileSync(kept, 'utf8')
    const document = join(folder, path)
    const isPacked =
      existsSync(document) && readFileSync(document, 'utf8') === packedText(before, path, manifest)
    if (isPacked) writeFileSync(document, before)
  }
  rmSync(originals, { recursive: true })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (process.argv[2] === '--pack') packInPlace(root)
  else restoreDocuments(root)
}
