// In: src/index.ts, src/tools/cli/main.ts and the workers that they name. Out: dist/, the npm package's
// JavaScript (ESM, one entry per public name). wasm/tools/build.mjs puts the wasm modules there,
// scripts/types.mjs the types.
import { existsSync } from 'node:fs'
import { defineConfig } from 'vite'
import { recordPackages } from './scripts/package/notices.mjs'
import { packageUrls } from './scripts/package/package-urls.mjs'

const entries = {
  index: 'src/index.ts',
  node: 'src/node.ts',
  openai: 'src/adapters/openai.ts',
  'ai-sdk': 'src/adapters/ai-sdk.ts',
  'prompt-api': 'src/adapters/prompt-api.ts',
  embedder: 'src/encoders/embedder/embedder.ts',
  'node-embedder': 'src/node-embedder.ts',
  network: 'src/network/api/network.ts',
  'node-network': 'src/node-network.ts',
  testing: 'src/engine/api/fake/fake-engine.ts',
  tabs: 'src/engine/api/tabs/shared-engine.ts',
  assist: 'src/ui/assist/index.ts',
  widget: 'src/ui/widget/index.ts',
  command: 'src/tools/cli/main.ts',
  'compute-worker': 'src/tools/cli/compute-worker.ts',
  'solve-worker': 'src/tools/cli/solve-worker.ts',
  'picture-worker': 'src/tools/cli/pictures/picture-worker.ts',
}

/**
 * Some bundlers leave URLs unchanged, and the files are looked up next to the bundle, in `wasm/` rather than
 * `cdn/wasm/`. So the chunks that name the modules and a worker of dist/cdn are in that folder.
 */
const namesModules = (ids: readonly string[]): boolean =>
  ids.some((id) => /\/src\/engine\/(?:browser-host|wire\/pdf-script)\.ts$/.test(id))

export default defineConfig({
  plugins: [packageUrls(), recordPackages('library')],
  publicDir: false,
  base: './',
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: false,
    // Applications minify what they ship. In the package, readable stack traces are worth more, and need no
    // source maps, which would more than double its size.
    minify: false,
    modulePreload: false,
    reportCompressedSize: false,
    // Without this mode, Vite wraps each `import()` with code for its own pages.
    lib: {
      entry: Object.fromEntries(Object.entries(entries).filter(([, path]) => existsSync(path))),
      formats: ['es'],
    },
    rolldownOptions: {
      preserveEntrySignatures: 'strict',
      external: [/^node:/, /^onnxruntime-web/, '@huggingface/tokenizers', 'comlink'],
      output: {
        format: 'es',
        entryFileNames: '[name].js',
        chunkFileNames: ({ moduleIds }) => {
          if (namesModules(moduleIds)) return 'cdn/[name]-[hash].js'
          const isLanguage = moduleIds.some((id) => id.includes('/src/ui/words/languages/'))
          return isLanguage ? 'languages/[name]-[hash].js' : '[name]-[hash].js'
        },
        assetFileNames: 'assets/[name][extname]',
      },
    },
  },
})
