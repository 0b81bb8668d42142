// Offline use. In: the built page. Out: sw.js, a service worker with the name and SHA-256 of every file of
// its build, and pages marked with their build.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'
import { PACKS } from './packs.ts'

const WORKER = 'sw.js'
/**
 * Files that only some visitors need: one of four modules, one of the models, measurements, code and formula
 * libraries, documents, the search model, large icons.
 */
const LATER =
  /\.(hbm|wasm)$|roofline|measure-ops|highlight|formulas|\/language-|pdf|docx|html-text|markup|search-model|icon-(512|maskable)/
/** Asset names end with a hash of eight characters, which may include `-`. */
const ASSET = /^assets\/(.+)-[\w-]{8}(\.\w+)$/

/**
 * Puts the list of the page's files, and a version computed from their contents, into the worker's source.
 */
export function offline(source: string): Plugin {
  let folder = ''
  return {
    name: 'offline',
    apply: 'build',
    // Only for the page itself: each worker is a separate build.
    applyToEnvironment: ({ name }) => name === 'client',
    configResolved: ({ build }) => {
      folder = build.outDir
    },
    closeBundle() {
      const names = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== WORKER)
        .map(({ parentPath, name }) =>
          join(parentPath, name)
            .slice(folder.length + 1)
            .replaceAll('\\', '/'),
        )
        .filter((name) => !name.startsWith(`${PACKS}/`))
        .sort()
      const hash = createHash('sha256')
      for (const name of names) hash.update(name).update(readFileSync(join(folder, name)))
      const version = hash.digest('hex').slice(0, 16)
      for (const name of names.filter((each) => each.endsWith('.html'))) mark(join(folder, name), version)
      const list = (isLater: boolean) =>
        Object.fromEntries(
          names.filter((name) => LATER.test(name) === isLater).map((name) => [name, entryOf(folder, name)]),
        )
      const script = readFileSync(source, 'utf8')
        .replace("'__VERSION__'", JSON.stringify(version))
        .replace('{ __FILES__: [] }', JSON.stringify(list(false)))
        .replace('{ __LATER__: [] }', JSON.stringify(list(true)))
      writeFileSync(join(folder, WORKER), script)
    },
  }
}

/** Hosts may modify a page, so its build is identified by this mark instead of its hash. */
function mark(file: string, version: string): void {
  const page = readFileSync(file, 'utf8')
  const at = page.indexOf('<meta name="viewport"')
  if (at < 0)
    throw new Error(`${file} has no <meta name="viewport">, before which the build's mark is inserted`)
  writeFileSync(file, `${page.slice(0, at)}<meta name="build" content="${version}" />\n    ${page.slice(at)}`)
}

/** A file's SHA-256, and for an asset also its build-independent name. */
function entryOf(folder: string, name: string): readonly string[] {
  const sum = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('base64')
  if (!name.startsWith('assets/')) return [sum]
  const [, stem, end] = ASSET.exec(name) ?? []
  if (stem === undefined) throw new Error(`the name of ${name} does not end with a hash of eight characters`)
  return [sum, `${stem}${end}`]
}
