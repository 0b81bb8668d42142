// Builds dist/cdn, the library, the widget and the adapters for pages without a bundler: self-contained
// scripts, the wasm modules and readers next to them, and integrity.json with every file's hash.
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { escaped } from './package/ascii.mjs'
import { recordPackages } from './package/notices.mjs'
import { root } from './pinned-node.mjs'

/** The widget's texts, one file for each language. */
const LANGUAGES = Object.fromEntries(
  readdirSync(join(root, 'src/ui/words/languages')).map((name) => [
    `languages/${basename(name, '.ts')}.js`,
    `src/ui/words/languages/${name}`,
  ]),
)

/** Parts that the widget imports on demand, by their file in dist/cdn. */
const APART = {
  'embedder.js': 'src/encoders/embedder/embedder.ts',
  'assist.js': 'src/ui/assist/index.ts',
  'documents.js': 'src/ui/documents/index.ts',
  ...LANGUAGES,
  'pictures.js': 'src/ui/chat/picture-files.ts',
}

/** Workers that the library's own build shares with dist/cdn: they consist of another project's code. */
export const SHARED_WORKERS = {
  'pdf.worker.js': 'workers/pdf.worker.ts',
}

/** Packages that a page provides itself, through an import map. */
const OTHERS = [/^onnxruntime-web/]

/** Files of dist/cdn by their source. Each is built separately, so they share nothing. */
const CDN_SCRIPTS = {
  'halfbyte.js': 'src/index.ts',
  'widget.js': 'src/ui/widget/define.ts',
  'workers/engine.worker.js': 'workers/engine.worker.ts',
  'workers/compute.worker.js': 'workers/compute.worker.ts',
  ...APART,
  'openai.js': 'src/adapters/openai.ts',
  'ai-sdk.js': 'src/adapters/ai-sdk.ts',
  'prompt-api.js': 'src/adapters/prompt-api.ts',
  'tabs.js': 'src/engine/api/tabs/shared-engine.ts',
  'network.js': 'src/network/api/network.ts',
  'workers/embedder.worker.js': 'workers/embedder.worker.ts',
  'workers/network.worker.js': 'workers/network.worker.ts',
  ...Object.fromEntries(Object.entries(SHARED_WORKERS).map(([name, source]) => [`workers/${name}`, source])),
}

/** Leaves the imports of these parts in the widget's script. */
const partsApart = {
  name: 'halfbyte:parts-apart',
  enforce: 'pre',
  resolveId: (id, importer) => {
    // The import as the widget writes it, with the file's folder.
    const part = Object.keys(APART).find((name) => id.endsWith(APART[name].split('/').slice(-2).join('/')))
    return importer !== undefined && part !== undefined
      ? { id: `./${part}`, external: 'relative' }
      : undefined
  },
}

/**
 * Readers of formats and parts of the engine, which engines import if a file needs them. They share no
 * chunks with the engine.
 */
export const READERS = {
  'gguf.js': 'src/core/formats/gguf/script.ts',
  'safetensors.js': 'src/core/formats/safetensors/script.ts',
  'families.js': 'src/core/arch/rare/script.ts',
  'onnx.js': 'src/network/onnx/script.ts',
  'vision.js': 'src/engine/load/vision/script.ts',
  'encoders.js': 'src/encoders/graph/script.ts',
}

/** Writes a single self-contained script into a folder of the repository. */
async function buildAlone(folder, fileName, source) {
  const { build } = await import('vite')
  const { packageUrls } = await import('./package/package-urls.mjs')
  const { output } = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    base: './',
    plugins: [partsApart, packageUrls({ alone: true }), recordPackages(fileName.replaceAll('/', '-'))],
    build: {
      write: false,
      outDir: folder,
      target: 'es2022',
      minify: true,
      modulePreload: false,
      rolldownOptions: {
        input: join(root, source),
        external: OTHERS,
        preserveEntrySignatures: 'strict',
        output: { format: 'es', entryFileNames: fileName, codeSplitting: false },
      },
    },
  })
  if (output.length !== 1)
    throw new Error(`${fileName} is not one script: ${output.map((file) => file.fileName)}`)
  writeFileSync(join(root, folder, fileName), escaped(output[0].code))
}

/** Builds dist/readers, which must exist before anything that names its files is built. */
export async function buildReaders() {
  mkdirSync(join(root, 'dist/readers'), { recursive: true })
  for (const [name, source] of Object.entries(READERS)) {
    await buildAlone('dist/readers', name, source)
  }
}

/**
 * The library's own scripts name the modules and readers of dist/cdn, so the package contains them only once.
 */
export async function buildCdn() {
  const folder = join(root, 'dist/cdn')
  const modules = readdirSync(join(root, 'dist/wasm')).filter((name) => name.endsWith('.wasm'))
  for (const name of modules) cpSync(join(root, 'dist/wasm', name), join(folder, 'wasm', name))
  copyReaders(join(folder, 'readers'))
  mkdirSync(join(folder, 'workers'))
  mkdirSync(join(folder, 'languages'))
  for (const [name, source] of Object.entries(CDN_SCRIPTS)) {
    await buildAlone('dist/cdn', name, source)
  }
  const names = [
    ...Object.keys(CDN_SCRIPTS),
    ...Object.keys(READERS).map((name) => `readers/${name}`),
    ...modules.map((name) => `wasm/${name}`),
  ]
  writeFileSync(join(folder, 'integrity.json'), `${JSON.stringify(integrityOf(folder, names), null, 2)}\n`)
}

function copyReaders(folder) {
  mkdirSync(folder, { recursive: true })
  for (const name of Object.keys(READERS)) cpSync(join(root, 'dist/readers', name), join(folder, name))
}

/** Values for `integrity` attributes, by path from dist/cdn. */
function integrityOf(folder, names) {
  const hash = (name) =>
    createHash('sha384')
      .update(readFileSync(join(folder, name)))
      .digest('base64')
  return Object.fromEntries(names.sort().map((name) => [name, `sha384-${hash(name)}`]))
}
