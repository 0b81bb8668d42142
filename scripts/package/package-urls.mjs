// Rewrites `new URL('<relative path>', import.meta.url)` in the library's source to the path of that file in
// the built package, in a form that users' bundlers recognise.
//
// A worker (.ts) becomes its own entry in workers/, and any other file is copied to assets/. Wasm modules and
// readers stay in dist/cdn. Vite's own handling would inline wasm as data URLs or wrap the URL twice, which
// hides it from bundlers.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, posix, resolve } from 'node:path'
import MagicString from 'magic-string'
import { READERS, SHARED_WORKERS } from '../cdn.mjs'

const URL_EXPRESSION = /new URL\(\s*(?<quote>['"])(\.[^'"]*)\k<quote>\s*,\s*import\.meta\.url\s*,?\s*\)/g
const MARK = '__PACKAGE_ROOT__/'
const MARKED = new RegExp(`(?:/\\* @vite-ignore \\*/\\s*)?(['"\`])${MARK}([\\w./-]+)`, 'g')
const WORKER_START = new RegExp(
  `startWorker\\(\\s*(?<script>\\w+),\\s*\\(\\) =>\\s*new Worker\\(\\s*(?<url>${URL_EXPRESSION.source}), { type: 'module' }\\),?\\s*\\)`,
  'dg',
)

/**
 * The Vite plugin, for builds of the library only. `alone`: for a page without a bundler. Workers are then
 * built separately, and a script of the page's own origin starts them, wherever the library is hosted.
 */
export const packageUrls = ({ alone = false } = {}) => ({
  name: 'halfbyte:package-urls',
  enforce: 'pre',
  transform(code, id) {
    const file = id.split('?')[0]
    if (!code.includes('import.meta.url') || file.includes('node_modules')) return undefined
    const output = new MagicString(code)
    if (alone) startByAddress(output, code)
    const shared = alone ? '' : 'cdn/'
    output.replaceAll(URL_EXPRESSION, (whole, _quote, path) => {
      const target = resolve(dirname(file), path)
      const name = basename(target)
      if (name.endsWith('.wasm')) return mark(`${shared}wasm/${name}`)
      if (READERS[name] !== undefined) return mark(`${shared}readers/${name}`)
      if (!existsSync(target)) return whole
      if (/\.[cm]?ts$/.test(name)) {
        const script = name.replace(/\.[cm]?ts$/, '.js')
        if (SHARED_WORKERS[script] !== undefined) return mark(`${shared}workers/${script}`)
        const fileName = `workers/${script}`
        if (!alone) this.emitFile({ type: 'chunk', id: target, fileName })
        return mark(fileName)
      }
      this.emitFile({ type: 'asset', fileName: `assets/${name}`, source: readFileSync(target) })
      return mark(`assets/${name}`)
    })
    return changed(output)
  },
  renderChunk(code, chunk) {
    if (!code.includes(MARK)) return undefined
    const from = posix.dirname(chunk.fileName)
    // Users' bundlers must see the original expression, so this build must not process it.
    const output = new MagicString(code).replaceAll(MARKED, (_whole, quote, path) => {
      const relative = posix.relative(from, path)
      return `${quote}${relative.startsWith('.') ? relative : `./${relative}`}`
    })
    return changed(output)
  },
})

const mark = (path) => `new URL(/* @vite-ignore */ '${MARK}${path}', import.meta.url)`

/** `startWorker(script, () => new Worker(url, ...))` becomes `startWorker(script ?? url.href)`. */
const startByAddress = (output, code) => {
  for (const { indices } of code.matchAll(WORKER_START)) {
    const { script, url } = indices.groups
    output.overwrite(script[1], url[0], ' ?? ').overwrite(url[1], indices[0][1], '.href)')
  }
}

const changed = (output) =>
  output.hasChanged() ? { code: output.toString(), map: output.generateMap({ hires: true }) } : undefined
