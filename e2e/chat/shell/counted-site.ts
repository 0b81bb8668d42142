// A site that counts bytes. In: the built page in build/demo. Out: a server for it that records requests and
// sent bytes.
import { fileURLToPath } from 'node:url'
import { type Plugin, preview } from 'vite'

const CONFIG = fileURLToPath(new URL('../../../demo/vite.config.ts', import.meta.url))

export interface Answer {
  readonly path: string
  /** Bytes on the wire, compressed, including headers. */
  readonly bytes: number
}

export interface CountedSite {
  readonly address: string
  /** Paths in the order in which they were requested. */
  readonly asked: string[]
  readonly answers: Answer[]
  /** Called before an answer, which waits until the promise resolves. */
  hold: (path: string) => Promise<void> | undefined
  close(): Promise<void>
}

export async function countedSite(): Promise<CountedSite> {
  const site: CountedSite = {
    address: '',
    asked: [],
    answers: [],
    hold: () => undefined,
    close: async () => undefined,
  }
  const counter: Plugin = {
    name: 'count',
    configurePreviewServer({ middlewares }) {
      middlewares.use((request, response, next) => {
        const path = new URL(request.url ?? '/', 'http://site').pathname
        site.asked.push(path)
        const { socket } = request
        const before = socket.bytesWritten
        response.on('finish', () => site.answers.push({ path, bytes: socket.bytesWritten - before }))
        const held = site.hold(path)
        if (held === undefined) next()
        else void held.then(() => next())
      })
    },
  }
  const server = await preview({
    configFile: CONFIG,
    plugins: [counter],
    preview: { host: '127.0.0.1', port: 0 },
    logLevel: 'warn',
  })
  const bound = server.httpServer.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('the preview server has no port')
  return Object.assign(site, { address: `http://127.0.0.1:${bound.port}/`, close: () => server.close() })
}
