// The benches' server: isolated pages, and optionally a model file, on one local address.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Connect, createServer } from 'vite'
import { ISOLATION, sendFile } from '../../test/helpers/http-server.ts'

interface BenchServer {
  readonly url: string
  readonly modelUrl: string
  close(): Promise<void>
}

/** A page with one script, into which the development server injects its own. */
export const pageAround = (script: string): string => `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>Halfbyte bench</title>
  <link rel="icon" href="data:," />
  <script type="module" src="${script}"></script>
</html>
`

/**
 * Serves `page.ts` of each folder of lab/bench/ as that folder's index.html, by default with
 * SharedArrayBuffer, and `model` at /model.gguf, with ranges. Calls `middleware` before both.
 */
export async function serveBench(
  model?: URL,
  middleware?: Connect.NextHandleFunction,
  { isolated = true } = {},
): Promise<BenchServer> {
  const headers = isolated ? ISOLATION : {}
  const root = fileURLToPath(new URL('.', import.meta.url))
  const server = await createServer({
    root,
    configFile: false,
    logLevel: 'error',
    server: {
      port: 0,
      headers,
      fs: { allow: [fileURLToPath(new URL('../..', import.meta.url))] },
      hmr: false,
    },
    worker: { format: 'es' },
    plugins: [
      {
        name: 'bench',
        async configureServer(server) {
          const { middlewares } = server
          middlewares.use(async (request, response, next) => {
            const [, folder] = /^\/([\w-]+)\/index\.html$/.exec(request.url ?? '') ?? []
            if (folder === undefined || !existsSync(join(root, folder, 'page.ts'))) return next()
            response.writeHead(200, { ...headers, 'content-type': 'text/html' })
            response.end(
              await server.transformIndexHtml(`/${folder}/index.html`, pageAround(`/${folder}/page.ts`)),
            )
          })
          if (middleware !== undefined) middlewares.use(middleware)
          if (model === undefined) return
          middlewares.use('/model.gguf', (request, response) => {
            response.setHeaders(new Map(Object.entries(headers)))
            sendFile(request, response, fileURLToPath(model))
          })
        },
      },
    ],
  })
  await server.listen()
  const url = server.resolvedUrls?.local[0]
  if (url === undefined) throw new Error('the bench server has no address')
  return { url, modelUrl: new URL('model.gguf', url).href, close: () => server.close() }
}
