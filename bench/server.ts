// The bench's server. In: a model file, or none. Out: isolated pages and the model on one local address.
import { createReadStream, existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Connect, createServer } from 'vite'

export interface BenchServer {
  readonly url: string
  readonly modelUrl: string
  close(): Promise<void>
}

/** Headers that make a page isolated. */
export const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

/** A page around one script; a development server puts its own into it. */
export const pageAround = (script: string): string => `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>Halfbyte bench</title>
  <link rel="icon" href="data:," />
  <script type="module" src="${script}"></script>
</html>
`

/**
 * Serves `page.ts` of each folder of bench/ as that folder's index.html, by default with SharedArrayBuffer
 * allowed, and `model` at /model.gguf, in ranges too. `middleware` answers before both.
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
      fs: { allow: [fileURLToPath(new URL('..', import.meta.url))] },
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
          middlewares.use('/model.gguf', await fileHandler(model, headers))
        },
      },
    ],
  })
  await server.listen()
  const url = server.resolvedUrls?.local[0]
  if (url === undefined) throw new Error('the bench server has no address')
  return { url, modelUrl: new URL('model.gguf', url).href, close: () => server.close() }
}

/** Answers with a file, in ranges too. Its type is unknown unless `headers` say it. */
export async function fileHandler(
  file: URL,
  headers: Readonly<Record<string, string>> = ISOLATION,
): Promise<Connect.SimpleHandleFunction> {
  const { size } = await stat(file)
  return (request, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const start = Number(from ?? 0)
    const end = Math.min(Number(to ?? size), size - 1)
    response.writeHead(from === undefined ? 200 : 206, {
      'content-type': 'application/octet-stream',
      ...headers,
      'content-length': end - start + 1,
      ...(from !== undefined && { 'content-range': `bytes ${start}-${end}/${size}` }),
    })
    createReadStream(file, { start, end }).pipe(response)
  }
}
