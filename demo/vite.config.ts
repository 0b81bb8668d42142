// In: demo/ and, through relative imports, src/. Out: the chat and roofline pages in build/demo with a service worker, or a server.
//
// HALFBYTE_ISOLATION=off serves without COOP and COEP, as most pages that embed something are: no shared memory there.
import { fileURLToPath } from 'node:url'
import { type Connect, defineConfig, type Plugin } from 'vite'
import { offline } from './offline.ts'

const isIsolated = process.env.HALFBYTE_ISOLATION !== 'off'

const isolate: Connect.NextHandleFunction = (_request, response, next) => {
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin')
  response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp')
  next()
}

/**
 * Vite's own `headers` are missing from its 304 answers, and WebKit refuses a worker script whose 304 has no COEP: the
 * second visit would fail.
 */
const isolation: Plugin = {
  name: 'isolation',
  configureServer: ({ middlewares }) => void middlewares.use(isolate),
  configurePreviewServer: ({ middlewares }) => void middlewares.use(isolate),
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  root: path('.'),
  base: './',
  assetsInclude: ['**/*.hbm'],
  plugins: [offline(path('./sw.js')), ...(isIsolated ? [isolation] : [])],
  server: { fs: { allow: [path('..')] } },
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    outDir: path('../build/demo'),
    rolldownOptions: { input: [path('./index.html'), path('./roofline.html')] },
    emptyOutDir: true,
    // A wasm module or a model as a data URL could be neither streamed nor cached on its own.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // Firefox reports an error for a preload of the page's own script, which is there already.
    modulePreload: {
      resolveDependencies: (_file, names) => names.filter((name) => !/\/index-.*\.js$/.test(name)),
    },
  },
})
