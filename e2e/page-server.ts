// Serves the built chat page, or another folder of build/, to the browser tests: `node page-server.ts PORT
// on|off [FOLDER]`. With `on` it sends COOP and COEP.
//
// Vite's preview compresses each answer again, which took a tenth of the CPU time of a page load.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ISOLATION, openServer, sendFile } from '../test/helpers/http-server.ts'

const [port, isolation, folder = 'demo'] = process.argv.slice(2)
const FOLDER = fileURLToPath(new URL(`../build/${folder}`, import.meta.url))

await openServer((request, response, path) => {
  if (isolation === 'on') response.setHeaders(new Map(Object.entries(ISOLATION)))
  const file = join(FOLDER, path.endsWith('/') ? `${path}index.html` : path)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found?.isFile() === true) {
    // Makes later visits revalidate their files, as most hosts do.
    const tag = `"${found.size}-${found.mtimeMs}"`
    response.setHeader('Cache-Control', 'no-cache').setHeader('ETag', tag)
    if (request.headers['if-none-match'] === tag) return response.writeHead(304).end()
  }
  return sendFile(request, response, file)
}, Number(port))
