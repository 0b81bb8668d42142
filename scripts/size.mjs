// Prints a table of gzipped sizes. It exits with 1 if one is over its budget in budget.json, or if a document
// gives another size. With --write it corrects the documents.
//
// The library is measured as an application would ship it: one build that includes its dependencies and
// workers, except those that the budget names.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { requirePinnedNode, root } from './pinned-node.mjs'
import { sizeTexts, writeSizes, wrongSizes } from './size-text.mjs'

requirePinnedNode()
const { build } = await import('vite')
const { packageUrls } = await import('./package/package-urls.mjs')

const budget = JSON.parse(readFileSync(join(root, 'budget.json'), 'utf8'))
const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length

const wasmRows = () => {
  const folder = join(root, 'dist/wasm')
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.wasm')) : []
  return names.sort().map((name) => ({
    name: `dist/wasm/${name}`,
    bytes: gzipped(readFileSync(join(folder, name))),
    budget: budget.wasm.each,
  }))
}

/** Chunks of the library, or of another entry, with everything but `without`. */
const libraryChunks = async (without, entry = 'src/index.ts') => {
  const result = await build({
    root,
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    plugins: [packageUrls()],
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: {
        input: { index: join(root, entry) },
        preserveEntrySignatures: 'strict',
        // Applications that ask for it have it on their own account.
        external: [/^node:/, /^onnxruntime-web/, ...without],
      },
    },
  })
  const output = (Array.isArray(result) ? result : [result]).flatMap(({ output }) => output)
  return output.filter(({ type }) => type === 'chunk')
}

const sum = (chunks) => chunks.reduce((bytes, { code }) => bytes + gzipped(Buffer.from(code)), 0)

/** The library and its workers are needed for every model, the other chunks when a reply asks for them. */
const libraryRows = async () => {
  const { without, total, later } = budget.library
  const chunks = await libraryChunks(without)
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const first = new Set(chunks.filter(({ fileName, isEntry }) => isEntry || fileName.startsWith('workers/')))
  for (const { imports } of first)
    for (const name of imports) if (byName.has(name)) first.add(byName.get(name))
  const libraryName = `library without ${without.join(', ')}`
  return [
    { name: libraryName, bytes: sum([...first]), budget: total },
    {
      name: 'parts of the library that are loaded on request',
      bytes: sum(chunks.filter((chunk) => !first.has(chunk))),
      budget: later,
    },
  ]
}

const cdnBytes = (names) =>
  names
    .map((name) => join(root, 'dist/cdn', name))
    .reduce((sum, path) => sum + (existsSync(path) ? gzipped(readFileSync(path)) : Number.NaN), 0)

const readerRows = () =>
  Object.entries(budget.readers).map(([name, most]) => ({
    name: `dist/readers/${name}, loaded when such a file is opened`,
    bytes: gzipped(readFileSync(join(root, 'dist/readers', name))),
    budget: most,
  }))

/** Of an engine; an encoder has another one. */
const WORKERS = ['workers/engine.worker.js', 'workers/compute.worker.js']

/** Its scripts share nothing, so each has a copy of what it needs. */
const cdnRow = async () => ({
  name: 'dist/cdn, scripts of the library',
  bytes: cdnBytes(['halfbyte.js', ...WORKERS]),
  budget: Math.floor(sum(await libraryChunks([])) * budget.cdn.overLibrary),
})

/** All that a page with the widget fetches besides its model; of the wasm modules it takes one. */
const widgetRow = (modules) => ({
  name: 'widget with workers and the largest wasm module',
  bytes: cdnBytes(['widget.js', ...WORKERS]) + Math.max(...modules.map(({ bytes }) => bytes)),
  budget: budget.widget.total,
})

/**
 * What is fetched of a build: its entry, the scripts and parts whose names begin with one of `names`, and
 * what these import. The build also makes what its page does not ask for.
 */
const fetchedOf = (chunks, names) => {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const isFetched = ({ isEntry, fileName }) =>
    fileName.startsWith('workers/') || !isEntry
      ? names.some((name) => fileName.replace(/^.*\//, '').startsWith(name))
      : isEntry
  const fetched = new Set(chunks.filter(isFetched))
  for (const { imports } of fetched)
    for (const name of imports) if (byName.has(name)) fetched.add(byName.get(name))
  return [...fetched]
}

/** What a page fetches for networks in its own thread and in workers, and the part of it that compiles. */
const networkRows = async () => {
  const { total, worker, compiler, fallback } = budget.network
  const chunks = await libraryChunks([], 'src/network/api/network.ts')
  const own = await libraryChunks([/\/src\/(?!network\/compile\/)/], 'src/network/compile/compiled-graph.ts')
  return [
    {
      name: 'halfbyte/network with all that it needs',
      bytes: sum(fetchedOf(chunks, ['load-network'])),
      budget: total,
    },
    {
      name: 'the same with a worker and threads',
      bytes: sum(fetchedOf(chunks, ['remote-network', 'network', 'compute'])),
      budget: worker,
    },
    { name: 'its compiler without the dialect of ONNX', bytes: sum(own), budget: compiler },
    {
      name: 'its part for onnxruntime-web, loaded with the option fallback',
      bytes: sum(chunks.filter(({ fileName }) => fileName.includes('mixed-graph'))),
      budget: fallback,
    },
  ]
}

/** What a page that loads encoders fetches: the entry, its worker and the workers of threads. */
const embedderRow = async () => {
  const chunks = await libraryChunks(budget.library.without, 'src/encoders/embedder/embedder.ts')
  const name = 'halfbyte/embedder with all that it needs'
  return { name, bytes: sum(fetchedOf(chunks, ['embedder', 'compute'])), budget: budget.embedder.total }
}

/** What a chat fetches with its first message to answer without a model. */
const assistRow = async () => {
  const chunks = await libraryChunks([], 'src/ui/assist/index.ts')
  return { name: 'halfbyte/assist', bytes: sum(chunks), budget: budget.assist.total }
}

const modules = wasmRows()
const [libraryRow, laterRow] = await libraryRows()
const readers = readerRows()
const widget = widgetRow(modules)
const rows = [
  ...modules,
  libraryRow,
  laterRow,
  ...readers,
  await embedderRow(),
  ...(await networkRows()),
  await assistRow(),
  await cdnRow(),
  widget,
]
for (const { name, bytes, budget: most } of rows) {
  const verdict = bytes <= most ? 'ok  ' : 'OVER'
  console.log(`${verdict} ${String(bytes).padStart(8)} of ${String(most).padStart(8)} bytes gzipped  ${name}`)
}
if (rows.length !== 19) {
  console.error(
    `size: expected four wasm modules, two rows of the library, three readers, the parts for rare families and vision, the embedder, four rows of networks, the answers without a model, dist/cdn and the widget, found ${rows.length} rows; run npm run build first`,
  )
  process.exit(1)
}
const over = rows.filter(({ bytes, budget: most }) => !(bytes <= most))
if (over.length > 0) {
  console.error(
    `size: ${over.map(({ name }) => name).join(', ')} over budget; make it smaller or raise budget.json on purpose`,
  )
  process.exit(1)
}

const texts = sizeTexts({
  wasm: modules.map(({ bytes }) => bytes),
  library: libraryRow.bytes,
  later: laterRow.bytes,
  readers: Object.fromEntries(Object.keys(budget.readers).map((name, at) => [name, readers[at].bytes])),
  widgetScript: cdnBytes(['widget.js']),
  widgetWorkers: cdnBytes(WORKERS),
  widget: widget.bytes,
  widgetBudget: widget.budget,
})
if (process.argv.includes('--write')) writeSizes(root, texts)
const wrong = wrongSizes(root, texts)
if (wrong.length > 0) {
  console.error(`size: ${wrong.join(' and ')} give other sizes; npm run size -- --write corrects them`)
  process.exit(1)
}
