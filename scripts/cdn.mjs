// Builds dist/cdn, the library and the widget for pages without a bundler: scripts that import nothing, the
// wasm modules beside them, and integrity.json with the hash of every file.
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordPackages } from './package/notices.mjs'
import { root } from './pinned-node.mjs'

/** The encoder, which the widget imports when a page asks for it. Others import nothing. */
const EMBEDDER = 'src/api/embedder/embedder.ts'

/** Files of dist/cdn by their source. Each is built by itself, so they share nothing. */
export const CDN_SCRIPTS = {
  'halfbyte.js': 'src/index.ts',
  'widget.js': 'src/widget/define.ts',
  'workers/engine.worker.js': 'workers/engine.worker.ts',
  'workers/compute.worker.js': 'workers/compute.worker.ts',
  'embedder.js': EMBEDDER,
  'workers/embedder.worker.js': 'workers/embedder.worker.ts',
}

/** Leaves the import of the encoder in the script of the widget. */
const embedderApart = {
  name: 'halfbyte:embedder-apart',
  enforce: 'pre',
  resolveId: (id, importer) =>
    importer !== undefined && id.endsWith('/embedder/embedder.ts')
      ? { id: './embedder.js', external: 'relative' }
      : undefined,
}

/** Readers of formats, which engines import when they open such a file. They share no chunk with them. */
export const READERS = {
  'gguf.js': 'src/formats/gguf/script.ts',
  'safetensors.js': 'src/formats/safetensors/script.ts',
  'onnx.js': 'src/onnx/script.ts',
  'vision.js': 'src/engine/load/vision/script.ts',
}

/** One script with everything in it. */
export async function buildAlone(fileName, source) {
  const { build } = await import('vite')
  const { packageUrls } = await import('./package/package-urls.mjs')
  const { output } = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    base: './',
    plugins: [embedderApart, packageUrls({ alone: true }), recordPackages(fileName.replaceAll('/', '-'))],
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      modulePreload: false,
      rolldownOptions: {
        input: join(root, source),
        preserveEntrySignatures: 'strict',
        output: { format: 'es', entryFileNames: fileName, codeSplitting: false },
      },
    },
  })
  if (output.length !== 1)
    throw new Error(`${fileName} is not one file: ${output.map((file) => file.fileName)}`)
  return escaped(output[0].code)
}

/**
 * Browsers keep the source of a script as long as the page lives, in two bytes a character if one of them is
 * not Latin-1.
 */
function escaped(code) {
  return code.replaceAll(/(\\*)([^\t\n\r -~])/g, (_whole, slashes, character) => {
    if (slashes.length % 2 === 1) throw new Error(`a backslash before ${character} cannot be kept`)
    return `${slashes}\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Builds dist/readers, which must be there before anything that names its files is built. */
export async function buildReaders() {
  mkdirSync(join(root, 'dist/readers'), { recursive: true })
  for (const [name, source] of Object.entries(READERS)) {
    writeFileSync(join(root, 'dist/readers', name), await buildAlone(name, source))
  }
}

export async function buildCdn() {
  const folder = join(root, 'dist/cdn')
  rmSync(folder, { recursive: true, force: true })
  const modules = readdirSync(join(root, 'dist/wasm')).filter((name) => name.endsWith('.wasm'))
  for (const name of modules) cpSync(join(root, 'dist/wasm', name), join(folder, 'wasm', name))
  cpSync(join(root, 'dist/readers'), join(folder, 'readers'), { recursive: true })
  mkdirSync(join(folder, 'workers'))
  for (const [name, source] of Object.entries(CDN_SCRIPTS)) {
    writeFileSync(join(folder, name), await buildAlone(name, source))
  }
  writeFileSync(join(folder, 'integrity.json'), `${JSON.stringify(integrityOf(folder), null, 2)}\n`)
}

/** Values for `integrity` attributes, by path from dist/cdn. */
function integrityOf(folder) {
  const names = readdirSync(folder, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.(js|wasm)$/.test(name))
  const hash = (name) =>
    createHash('sha384')
      .update(readFileSync(join(folder, name)))
      .digest('base64')
  return Object.fromEntries(names.sort().map((name) => [name, `sha384-${hash(name)}`]))
}
