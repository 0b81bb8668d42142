// In: demo/ and, through relative imports, src/. Out: build/demo with the chat and roofline pages and a
// service worker, or a development server.
//
// HALFBYTE_ISOLATION=off serves without COOP and COEP, like most pages that embed something: no shared memory
// there. HALFBYTE_PACKS names another folder of packs than models/made.
import { fileURLToPath } from 'node:url'
import { type Connect, defineConfig, type Plugin } from 'vite'
import { apart } from './apart.ts'
import { inline } from './inline.ts'
import { offline } from './offline.ts'
import { pagePacks } from './packs.ts'
import { preload } from './preload.ts'
import { processors } from './processors.ts'
import { sharedStyles } from './shared-styles.ts'
import { UNLOADED } from './src/words/unloaded.ts'

const isIsolated = process.env.HALFBYTE_ISOLATION !== 'off'

const isolate: Connect.NextHandleFunction = (_request, response, next) => {
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin')
  response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp')
  next()
}

/**
 * Vite leaves its own `headers` out of 304 answers, and WebKit rejects a worker script whose 304 has no COEP.
 * The second visit would fail.
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
  plugins: [
    apart,
    inline(path('.'), { "{ __UNLOADED__: '' }": JSON.stringify(UNLOADED) }),
    sharedStyles,
    processors,
    pagePacks(process.env.HALFBYTE_PACKS ?? path('./models/made')),
    preload,
    offline(path('./sw.js')),
    ...(isIsolated ? [isolation] : []),
  ],
  server: { fs: { allow: [path('..')] } },
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    outDir: path('../build/demo'),
    rolldownOptions: {
      input: [path('./index.html'), path('./roofline.html')],
      output: {
        // offline.ts recognises the language files by this prefix.
        chunkFileNames: ({ facadeModuleId }) =>
          facadeModuleId?.includes('/words/languages/')
            ? 'assets/language-[name]-[hash].js'
            : 'assets/[name]-[hash].js',
        codeSplitting: {
          groups: [
            // The scripts that run before the first paint.
            {
              name: 'early',
              test: /preload-helper|\/src\/(?:engine\/wire\/script|core\/runtime\/features|models\/(?:early|last-choice|embedded)|shell\/(?:storage|tasks))/,
              priority: 2,
            },
            // In a separate chunk, code shared by the page and the search model compresses worse, by a
            // kilobyte.
            {
              name: 'library',
              test: /\/src\/(?:core\/base|engine\/api\/(?:request\/|[\w-]+\.ts)|engine\/wire|core\/store\/(?:address|hub))/,
              priority: 1,
            },
            // Small modules and their dependencies. In separate chunks they compress worse, by two kilobytes.
            {
              name: 'shared',
              test: /virtual:page-packs|\/demo\/src\/(?:shell\/(?:units|own-settings)|models\/(?:unfinished|model-slot)|conversation\/(?:files\/(?:attachments|views)|store\/remember))/,
            },
          ],
        },
      },
    },
    emptyOutDir: true,
    // As data URLs, wasm modules and models could not be streamed or cached on their own.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // The page itself lists the files it needs: determining them in a script costs a slow phone a tenth of a
    // second.
    modulePreload: { polyfill: false, resolveDependencies: () => [] },
  },
})
