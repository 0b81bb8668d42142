// A server for model files. In: files and a rate limit. Out: a local URL, open to every page.
import type { ServerResponse } from 'node:http'
import { type HttpServer, openServer } from '../test/helpers/http-server.ts'
import type { ModelFile } from './endless-model.ts'

/** Sends only the beginning of a file, and leaves the connection open. */
interface HollowFile extends ModelFile {
  readonly size: number
}

export interface ModelServer extends HttpServer {
  /** Bytes to send per second from now on; undefined for no limit. */
  bytesPerSecond: number | undefined
}

const SLICE_MS = 50
const SLAB_BYTES = 4 << 20

/** A model's files, with their paths below `folder`. */
export const filesBelow = (folder: string, files: ReadonlyMap<string, File>): Promise<ModelFile[]> =>
  Promise.all(
    [...files].map(async ([path, file]) => ({
      name: `${folder}${path}`,
      buffer: Buffer.from(await file.arrayBuffer()),
    })),
  )

export async function serveModels(files: readonly (ModelFile | HollowFile)[]): Promise<ModelServer> {
  const server = await openServer((_, response, path) => {
    const file = files.find(({ name }) => path === `/${name}`)
    response.setHeader('Access-Control-Allow-Origin', '*')
    if (file === undefined) {
      response.writeHead(404).end()
      return
    }
    const size = 'size' in file ? file.size : file.buffer.byteLength
    response.writeHead(200, { 'Content-Length': size })
    // Headers are read in slabs that extend a little beyond them.
    if (size > file.buffer.byteLength) response.write(Buffer.concat([file.buffer, Buffer.alloc(SLAB_BYTES)]))
    else void send(response, file.buffer, self)
  })
  const self: ModelServer = { ...server, bytesPerSecond: undefined }
  return self
}

async function send(
  response: ServerResponse,
  bytes: Buffer,
  pace: { readonly bytesPerSecond: number | undefined },
) {
  let sent = 0
  while (sent < bytes.byteLength && !response.destroyed) {
    const rate = pace.bytesPerSecond
    const end = rate === undefined ? bytes.byteLength : sent + Math.ceil((rate * SLICE_MS) / 1000)
    response.write(bytes.subarray(sent, end))
    sent = end
    await new Promise((resolve) => setTimeout(resolve, SLICE_MS))
  }
  response.end()
}
