// The entity tables of web pages, which both Markdown and the document reader use. In a chunk shared by both,
// they would compress worse: half a kilobyte more would load before the first message. So the reader, which
// loads with the first document, gets a copy of its own.
import type { Plugin } from 'vite'

const MARK = '?apart'

export const apart: Plugin = {
  name: 'apart',
  enforce: 'pre',
  async resolveId(id, importer = '') {
    const isReaders = /\/node_modules\/htmlparser2\//.test(importer) && /^entities(?:\/|$)/.test(id)
    if (!isReaders && !importer.endsWith(MARK)) return undefined
    const found = await this.resolve(id, importer, { skipSelf: true })
    return found === null ? undefined : { ...found, id: `${found.id}${MARK}` }
  },
}
