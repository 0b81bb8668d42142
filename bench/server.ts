// The bench's server. In: a model file, or none. Out: isolated pages and the model on one local address.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

export interface BenchServer {
  readonly url: string
  readonly modelUrl: string
  close(): Promise<void>
}

const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

/** Serves the pages of bench/ with SharedArrayBuffer allowed, and `model` at /model.gguf. */
export async function serveBench(model?: URL): Promise<BenchServer> {
  const server = await createServer({
    root: fileURLToPath(new URL('.', import.meta.url)),
    configFile: false,
    logLevel: 'error',
    server: {
      port: 0,
      headers: HEADERS,
      fs: { allow: [fileURLToPath(new URL('..', import.meta.url))] },
      hmr: false,
    },
    worker: { format: 'es' },
    plugins: [
      {
        name: 'model',
        async configureServer({ middlewares }) {
          if (model === undefined) return
          const { size } = await stat(model)
          middlewares.use('/model.gguf', (_request, response) => {
            response.writeHead(200, {
              ...HEADERS,
              'content-length': size,
              'content-type': 'application/octet-stream',
            })
            createReadStream(model).pipe(response)
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
