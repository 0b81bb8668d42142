// Rewrites `new URL('<relative path>', import.meta.url)` in the library's source to the path of that file in
// the built package, in a form that users' bundlers recognise.
//
// A worker (.ts) becomes an entry of its own in workers/, a wasm module is expected in wasm/, and any other
// file is copied to assets/. Vite's own handling would inline wasm as data URLs or wrap the URL twice, which
// bundlers then miss.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, posix, resolve } from 'node:path'
import { READERS } from '../cdn.mjs'

const URL_EXPRESSION = /new URL\(\s*(['"])(\.[^'"]*)\1\s*,\s*import\.meta\.url\s*,?\s*\)/g
const MARK = '__PACKAGE_ROOT__/'
const WORKER_START = new RegExp(
  `startWorker\\(\\s*(\\w+),\\s*\\(\\) =>\\s*new Worker\\(\\s*(new URL\\(/\\* @vite-ignore \\*/ '${MARK}[^']*', import\\.meta\\.url\\)), { type: 'module' }\\),?\\s*\\)`,
  'g',
)

/**
 * The Vite plugin, only for builds of the library. `alone`: for a page without a bundler. Workers are then
 * built by themselves, and are started by a script of the page's own origin wherever the library lies.
 */
export const packageUrls = ({ alone = false } = {}) => ({
  name: 'halfbyte:package-urls',
  enforce: 'pre',
  transform(code, id) {
    const file = id.split('?')[0]
    if (!code.includes('import.meta.url') || file.includes('node_modules')) return undefined
    const marked = code.replaceAll(URL_EXPRESSION, (whole, _quote, path) => {
      const target = resolve(dirname(file), path)
      const name = basename(target)
      if (name.endsWith('.wasm')) return mark(`wasm/${name}`)
      if (READERS[name] !== undefined) return mark(`readers/${name}`)
      if (!existsSync(target)) return whole
      if (/\.[cm]?ts$/.test(name)) {
        const fileName = `workers/${name.replace(/\.[cm]?ts$/, '.js')}`
        if (!alone) this.emitFile({ type: 'chunk', id: target, fileName })
        return mark(fileName)
      }
      this.emitFile({ type: 'asset', fileName: `assets/${name}`, source: readFileSync(target) })
      return mark(`assets/${name}`)
    })
    const output = alone ? marked.replaceAll(WORKER_START, 'startWorker($1 ?? $2.href)') : marked
    return output === code ? undefined : { code: output, map: null }
  },
  renderChunk(code, chunk) {
    if (!code.includes(MARK)) return undefined
    const from = posix.dirname(chunk.fileName)
    // The users' bundlers are to see what this one had to leave alone.
    const visible = code.replaceAll(new RegExp(`/\\* @vite-ignore \\*/\\s*(?=['"]${MARK})`, 'g'), '')
    const output = visible.replaceAll(new RegExp(`${MARK}([\\w./-]+)`, 'g'), (_whole, path) => {
      const relative = posix.relative(from, path)
      return relative.startsWith('.') ? relative : `./${relative}`
    })
    return { code: output, map: null }
  },
})

const mark = (path) => `new URL(/* @vite-ignore */ '${MARK}${path}', import.meta.url)`
