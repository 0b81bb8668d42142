// The page's packs. In: a folder that `npm run make` fills. Out: a module that lists its packs, and the packs
// as files of the page. They are not assets: a rebuilt page finds stored packs under the same address, and
// the service worker leaves them to the engine's own store.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'
import type { PackCard, PagePack } from './src/models/page-pack.ts'

const MODULE = 'virtual:page-packs'
/** The page's folder with the packs. */
export const PACKS = 'packs'
const CARD = /\.json$/
const TEXTS = ['title', 'about', 'languages', 'licence', 'source'] as const

/** Throws for an invalid card. A card without its pack, or a pack without its card, is skipped. */
export function packsIn(folder: string): readonly PagePack[] {
  const names = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder).sort() : []
  return names.flatMap((name) => {
    const file = name.replace(CARD, '.hbm')
    if (!CARD.test(name) || !names.includes(file)) return []
    const card = cardOf(join(folder, name))
    return [{ ...card, file: `${PACKS}/${file}`, sizeBytes: statSync(join(folder, file)).size }]
  })
}

function cardOf(path: string): PackCard {
  const card: unknown = JSON.parse(readFileSync(path, 'utf8'))
  const isObject = typeof card === 'object' && card !== null
  const lacks = isObject
    ? [
        ...TEXTS.filter((text) => typeof (card as Record<string, unknown>)[text] !== 'string'),
        ...(Number.isSafeInteger((card as Record<string, unknown>)['contextLength'])
          ? []
          : ['contextLength']),
      ]
    : TEXTS
  if (lacks.length > 0)
    throw new Error(`${path} lacks ${lacks.join(', ')}; make its pack again, or remove the file`)
  return card as PackCard
}

/** Without packs, this is an empty list, which costs almost nothing. */
function moduleOf(packs: readonly PagePack[]): string {
  const models = packs.map(({ languages, licence, source, ...others }) => ({
    ...others,
    licence: [languages, licence, source].join(' · '),
  }))
  const place =
    models.length === 0 ? '' : '.map((m) => ({ ...m, address: new URL(m.file, document.baseURI).href }))'
  return `export const PAGE_PACKS = ${JSON.stringify(models)}${place}`
}

export function pagePacks(folder: string): Plugin {
  return {
    name: 'page-packs',
    resolveId: (id) => (id === MODULE ? `\0${MODULE}` : undefined),
    load: (id) => (id === `\0${MODULE}` ? moduleOf(packsIn(folder)) : undefined),
    configureServer({ middlewares }) {
      middlewares.use((request, _response, next) => {
        const [, name] = /^\/packs\/([^/?#]+\.hbm)$/.exec(request.url ?? '') ?? []
        if (name !== undefined)
          request.url = `/@fs/${join(folder, name).replaceAll('\\', '/').replace(/^\//, '')}`
        next()
      })
    },
    generateBundle() {
      for (const { file } of packsIn(folder)) {
        const source = readFileSync(join(folder, file.slice(PACKS.length + 1)))
        this.emitFile({ type: 'asset', fileName: file, source })
      }
    },
  }
}
