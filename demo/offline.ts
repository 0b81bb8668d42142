// Offline use. In: the built page. Out: sw.js, a service worker that caches all of the page's files
// for visits without a network.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

const WORKER = 'sw.js'
/**
 * Not everybody needs these: one of four modules, one of the models, measuring, what code and
 * formulas take, large icons.
 */
const LATER = /\.(hbm|wasm)$|roofline|measure-ops|highlight|formulas|hebrew|icon-(512|maskable)/

/**
 * Puts the names of the page's files, and a version computed from their contents, into the worker's source.
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
      const files = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== WORKER)
        .map(({ parentPath, name }) => join(parentPath, name))
        .sort()
      const hash = createHash('sha256')
      for (const file of files) hash.update(file.slice(folder.length)).update(readFileSync(file))
      const names = files.map((file) => file.slice(folder.length + 1).replaceAll('\\', '/'))
      const script = readFileSync(source, 'utf8')
        .replace("'__VERSION__'", JSON.stringify(hash.digest('hex').slice(0, 16)))
        .replace("['__FILES__']", JSON.stringify(names.filter((name) => !LATER.test(name))))
        .replace("['__LATER__']", JSON.stringify(names.filter((name) => LATER.test(name))))
      writeFileSync(join(folder, WORKER), script)
    },
  }
}
