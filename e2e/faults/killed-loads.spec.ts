// Killed loads in Chromium. In: models in each format, whose loads pause at a step, and a worker, page or
// signal that kills them there. Out: typed errors, the same answers from the next loads, and no leftovers.
import { type BrowserContext, expect, type Page } from '@playwright/test'
import { type FileServer, serveFiles } from '../../test/helpers/file-server.ts'
import { test as base, openLibrary } from '../library-site.ts'
import { FORMATS, type SmallFormat, type SmallModel, smallModel } from '../small-models.ts'
import { answers, crash, end, type Halt, halt, leftovers, publish, removeAll, watchWorkers } from './halts.ts'

const ENDS = ['terminate', 'abort', 'crash'] as const

/** Where each format's load is killed. `file`: in the second file, if the model has one. */
const PHASES = [
  ['request', 'file'],
  ['write bin', 'file'],
  ['write json', 'file'],
  ['read bin', 3],
  ['compile', 1],
  ['convert', 5],
  ['warmup', 1],
  ['chunk', 1],
] as const
/** Steps at which everything has already been stored. */
const STORED: readonly string[] = ['compile', 'convert', 'warmup', 'chunk']

/** The other file operations of a load. Testing each with one format is enough. */
const CHANGES: readonly (readonly [SmallFormat, string, number])[] = [
  ['gguf', 'open bin', 1],
  ['split', 'open part', 1],
  ['safetensors', 'answer', 1],
  ['onnx', 'flush bin', 1],
  ['adapter', 'write part', 1],
  ['gguf', 'truncate part', 1],
  ['split', 'truncate bin', 2],
  ['adapter', 'flush part', 2],
  ['onnx', 'truncate part', 2],
  ['pack', 'flush part', 3],
  ['safetensors', 'truncate bin', 3],
  ['gguf', 'close bin', 1],
  ['split', 'close part', 1],
  ['adapter', 'open json', 2],
  ['onnx', 'truncate json', 2],
  ['safetensors', 'flush json', 2],
  ['pack', 'close json', 1],
  ['gguf', 'remove part', 1],
  // The notes for files that the server lacks.
  ['safetensors', 'remove bin', 1],
  ['onnx', 'remove part', 2],
  ['pack', 'truncate json', 2],
]

/**
 * Between writing and truncating the note that a pack is verified, which is shorter than the previous one.
 */
const isSecondLoad = ({ name }: Halt) => name === 'pack at truncate json 2'

const test = base.extend<{ server: FileServer }>({
  async server({ browserName: _ }, use) {
    const server = await serveFiles({})
    server.behaviour = { exposes: true, etag: '"1"' }
    await use(server)
    await server.close()
  },
})

const MODELS = new Map<SmallFormat, SmallModel>()
test.beforeAll(async () => {
  for (const format of FORMATS) MODELS.set(format, await smallModel(format))
})

const open = async (context: BrowserContext, url: string): Promise<Page> => {
  const page = await context.newPage()
  await watchWorkers(page)
  await openLibrary(page, url)
  return page
}

const isOneFile = (format: SmallFormat) => format === 'gguf' || format === 'pack'

/** Each combination of format and step is tested with one way of killing. */
function halts(server: FileServer, how: (typeof ENDS)[number]): Halt[] {
  const phases = FORMATS.flatMap((format, row) =>
    PHASES.flatMap(([step, nth], column) =>
      ENDS[(row + column) % ENDS.length] === how
        ? [[format, step, nth === 'file' ? (isOneFile(format) ? 1 : 2) : nth] as const]
        : [],
    ),
  )
  const changes = CHANGES.filter((_, index) => ENDS[index % ENDS.length] === how)
  return [...phases, ...changes].map(([format, step, nth], index) => ({
    ...{ step, nth, name: `${format} at ${step} ${nth}` },
    place: publish(server, `${index}-${format}`, MODELS.get(format)!),
  }))
}

for (const how of ENDS)
  test(`loads killed by ${how} at any step answer normally the next time`, async ({
    context,
    site,
    server,
  }) => {
    const all = halts(server, how)
    const places = all.map(({ place }) => place)
    const right = all.map(({ name, place }) => `${name}: ${place.text}`)
    const named = (said: readonly string[]) => said.map((text, index) => `${all[index]?.name}: ${text}`)
    let page = await open(context, site.isolated)
    const first = all.filter(isSecondLoad).map((each): Halt => ({ ...each, step: 'convert', nth: 5 }))
    await halt(page, first)
    await end(page, 'abort')
    await halt(page, all)
    if (how === 'crash') {
      await crash(page)
      page = await open(context, site.isolated)
      const interrupted = await page.evaluate(() => halfbyte.interruptedLoads())
      expect(interrupted.length).toBeGreaterThan(0)
    } else {
      const code = how === 'abort' ? 'the reason' : 'internal'
      expect(named(await end(page, how))).toEqual(named(all.map(() => code)))
    }
    server.requests.length = 0
    expect(named(await answers(page, places))).toEqual(right)
    const stored = all.flatMap((each) =>
      STORED.includes(each.step) || isSecondLoad(each) ? [new URL('.', each.place.url).pathname] : [],
    )
    expect(server.requests.filter((line) => stored.some((folder) => line.includes(folder)))).toEqual([])
    const later = await open(context, site.isolated)
    server.requests.length = 0
    expect(named(await answers(later, places))).toEqual(right)
    expect(server.requests).toEqual([])
    expect(await leftovers(later)).toEqual([])
    expect(await removeAll(later, places)).toEqual([])
  })
