// Prints a table of gzipped sizes. Exits with 1 if one exceeds its budget in budget.json, or if a document
// states a different size. With --write, it corrects the documents.
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

/** Chunks of the library, or of another entry, including everything except `without`. */
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
        // Applications that use this package install it themselves.
        external: [/^node:/, /^onnxruntime-web/, ...without],
      },
    },
  })
  const output = (Array.isArray(result) ? result : [result]).flatMap(({ output }) => output)
  return output.filter(({ type }) => type === 'chunk')
}

const sum = (chunks) => chunks.reduce((bytes, { code }) => bytes + gzipped(Buffer.from(code)), 0)

/** Every model needs the library and its workers; a reply loads the other chunks if it needs them. */
const libraryRows = async () => {
  const { without, total, later } = budget.library
  const chunks = await libraryChunks(without)
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const first = new Set(chunks.filter(({ fileName, isEntry }) => isEntry || fileName.startsWith('workers/')))
  for (const { imports } of first)
    for (const name of imports) if (byName.has(name)) first.add(byName.get(name))
  const libraryName = `library, excluding ${without.join(', ')}`
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

/** An engine's worker; an encoder has a different one. */
const WORKERS = ['workers/engine.worker.js', 'workers/compute.worker.js']

/** The scripts of dist/cdn share nothing, so each contains its own dependencies. */
const cdnRow = async () => ({
  name: 'dist/cdn, scripts of the library',
  bytes: cdnBytes(['halfbyte.js', ...WORKERS]),
  budget: Math.floor(sum(await libraryChunks([])) * budget.cdn.overLibrary),
})

/** Everything that a page with the widget downloads besides its model, including one wasm module. */
const widgetRow = (modules) => ({
  name: 'widget with workers and the largest wasm module',
  bytes: cdnBytes(['widget.js', ...WORKERS]) + Math.max(...modules.map(({ bytes }) => bytes)),
  budget: budget.widget.total,
})

/** A page in a language other than English also downloads one of these. */
const languageRow = () => {
  const folder = join(root, 'dist/cdn/languages')
  const scripts = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.js')) : []
  return {
    name: `the largest of the widget's ${scripts.length} languages`,
    bytes: Math.max(...scripts.map((name) => gzipped(readFileSync(join(folder, name))))),
    budget: budget.widget.language,
  }
}

/**
 * The part of a build that a page downloads: its entry, the scripts and chunks whose names begin with one of
 * `names`, and their imports. The build also emits chunks that the page does not request.
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

/** What a page downloads to run networks on its own thread and in workers, and the compiler's share. */
const networkRows = async () => {
  const { total, worker, compiler, fallback, evaluators } = budget.network
  const chunks = await libraryChunks([], 'src/network/api/network.ts')
  const chunksOf = (path) => chunks.filter(({ moduleIds }) => moduleIds.some((id) => id.endsWith(path)))
  const own = await libraryChunks([/\/src\/(?!network\/compile\/)/], 'src/network/compile/compiled-graph.ts')
  return [
    {
      name: 'halfbyte/network with all its dependencies',
      bytes: sum(fetchedOf(chunks, ['load-network'])),
      budget: total,
    },
    {
      name: 'the same with a worker and threads',
      bytes: sum(fetchedOf(chunks, ['remote-network', 'network', 'compute'])),
      budget: worker,
    },
    { name: 'its compiler, without the ONNX reader', bytes: sum(own), budget: compiler },
    {
      name: 'its part for onnxruntime-web, loaded with the option fallback',
      bytes: sum(chunksOf('compile/staged/sessions.ts')),
      budget: fallback,
    },
    {
      name: 'its evaluators, loaded with the first node that runs between compiled programs',
      bytes: sum(chunksOf('onnx/evaluators.ts')),
      budget: evaluators,
    },
  ]
}

/** What a page with encoders downloads: the entry, its worker and the thread workers. */
const embedderRow = async () => {
  const chunks = await libraryChunks(budget.library.without, 'src/encoders/embedder/embedder.ts')
  const name = 'halfbyte/embedder with all its dependencies'
  return { name, bytes: sum(fetchedOf(chunks, ['embedder', 'compute'])), budget: budget.embedder.total }
}

/** What a chat downloads with its first message to answer without a model. */
const assistRow = async () => {
  const chunks = await libraryChunks([], 'src/ui/assist/index.ts')
  return { name: 'halfbyte/assist', bytes: sum(chunks), budget: budget.assist.total }
}

/** What a chat fetches with its first document, and with its first PDF. */
const documentRows = () => [
  {
    name: 'dist/cdn/documents.js, loaded with the first document',
    bytes: cdnBytes(['documents.js']),
    budget: budget.documents.total,
  },
  {
    name: 'dist/cdn/workers/pdf.worker.js, loaded with the first PDF',
    bytes: cdnBytes(['workers/pdf.worker.js']),
    budget: budget.documents.pdf,
  },
]

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
  ...documentRows(),
  await cdnRow(),
  widget,
  languageRow(),
]
for (const { name, bytes, budget: most } of rows) {
  const verdict = bytes <= most ? 'ok  ' : 'OVER'
  console.log(`${verdict} ${String(bytes).padStart(8)} of ${String(most).padStart(8)} bytes gzipped  ${name}`)
}
if (rows.length !== 24) {
  console.error(
    `size: expected four wasm modules, two rows of the library, three readers, the parts for rare families, vision and ONNX encoders, the embedder, five rows of networks, the answers without a model, two rows of documents, dist/cdn, the widget and its languages, found ${rows.length} rows; run npm run build first`,
  )
  process.exit(1)
}
const over = rows.filter(({ bytes, budget: most }) => !(bytes <= most))
if (over.length > 0) {
  console.error(
    `size: ${over.map(({ name }) => name).join(', ')} over budget; make it smaller or raise budget.json deliberately`,
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
  console.error(`size: ${wrong.join(' and ')} state different sizes; npm run size -- --write corrects them`)
  process.exit(1)
}
