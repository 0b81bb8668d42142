// Answers requests for the files of a folder, with the headers that isolate a page.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { Readable } from 'node:stream'

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
}

export const answerFrom = (folder) => async (request) => {
  const path = decodeURIComponent(new URL(request.url).pathname)
  const file = join(folder, path.endsWith('/') ? `${path}index.html` : path)
  const found = await stat(file).catch(() => undefined)
  if (!file.startsWith(folder + sep) || !found?.isFile()) return new Response('not found', { status: 404 })
  return new Response(Readable.toWeb(createReadStream(file)), {
    headers: {
      'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream',
      'Content-Length': String(found.size),
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
    },
  })
}
