// The entity tables of web pages, which Markdown and the reader of documents both use. In a chunk that both
// share they would compress worse, by half a kilobyte of what loads before the first message. So the reader,
// which loads with the first document, has its own.
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
