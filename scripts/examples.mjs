// In: examples/ and a built dist; a port, default 4180. Out: a server of the pages, with the library and the
// models beside them.
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { requirePinnedNode, root } from './pinned-node.mjs'

requirePinnedNode()
if (!existsSync(join(root, 'dist/cdn/halfbyte.js'))) {
  console.error('examples: there is no dist; run npm run build first')
  process.exit(1)
}

const FOLDERS = { '/halfbyte/': 'dist/cdn', '/models/': 'dist/models', '/': 'examples' }
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.wasm': 'application/wasm' }

const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname))
  const [prefix, folder] = Object.entries(FOLDERS).find(([prefix]) => path.startsWith(prefix))
  const name = path.slice(prefix.length)
  const file = join(root, folder, path.endsWith('/') ? `${name}index.html` : name)
  if (!existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end()
    return
  }
  response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream')
  response.setHeader('Content-Length', statSync(file).size)
  createReadStream(file).pipe(response)
})
server.listen(Number(process.argv[2] ?? 4180), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/plain-page/`)
})
