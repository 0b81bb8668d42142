// In: dist/wasm, src/index.ts and budget.json. Out: a table of gzipped sizes; exits 1 when one is over its
// budget.
//
// The library is measured as an application would ship it: one build with its dependencies and workers in,
// except those that the budget names.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { requirePinnedNode, root } from './pinned-node.mjs'

requirePinnedNode()
const { build } = await import('vite')
const { packageUrls } = await import('./package-urls.mjs')

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

const libraryRow = async () => {
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
        input: { index: join(root, 'src/index.ts') },
        preserveEntrySignatures: 'strict',
        external: [/^node:/, ...budget.library.without],
      },
    },
  })
  const chunks = (Array.isArray(result) ? result : [result]).flatMap(({ output }) => output)
  const bytes = chunks
    .filter(({ type }) => type === 'chunk')
    .reduce((sum, { code }) => sum + gzipped(Buffer.from(code)), 0)
  return { name: `library without ${budget.library.without.join(', ')}`, bytes, budget: budget.library.total }
}

const rows = [...wasmRows(), await libraryRow()]
for (const { name, bytes, budget: most } of rows) {
  const verdict = bytes <= most ? 'ok  ' : 'OVER'
  console.log(`${verdict} ${String(bytes).padStart(8)} of ${String(most).padStart(8)} bytes gzipped  ${name}`)
}
if (rows.length !== 5) {
  console.error(
    `size: expected four wasm modules and the library, found ${rows.length} rows; run npm run build first`,
  )
  process.exit(1)
}
const over = rows.filter(({ bytes, budget: most }) => bytes > most)
if (over.length > 0) {
  console.error(
    `size: ${over.map(({ name }) => name).join(', ')} over budget; make it smaller or raise budget.json on purpose`,
  )
  process.exit(1)
}
