// Logit processors of the page. In: an import of a module with ?processor. Out: the module's address, which
// the engine's worker imports. Vite builds workers without their exports, so a processor is a separate
// script.
import type { Plugin } from 'vite'

const QUERY = '?processor'

let isBuild = false

export const processors: Plugin = {
  name: 'processors',
  enforce: 'pre',
  configResolved({ command }) {
    isBuild = command === 'build'
  },
  load(id) {
    if (!id.endsWith(QUERY)) return undefined
    const file = id.slice(0, -QUERY.length)
    if (!isBuild)
      return `export default new URL(${JSON.stringify(file.split('/').at(-1))}, import.meta.url).href`
    const script = this.emitFile({ type: 'chunk', id: file, preserveSignature: 'strict' })
    return `export default import.meta.ROLLUP_FILE_URL_${script}`
  },
}
