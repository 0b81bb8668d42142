// In: the pages of examples/ and a built dist; a port, default 4180. Out: their server, with the library and
// the models beside them, and a second one in place of the CDN, on an origin of its own.
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { requirePinnedNode, root } from './pinned-node.mjs'

requirePinnedNode()
if (!existsSync(join(root, 'dist/cdn/halfbyte.js'))) {
  console.error('examples: there is no dist; run npm run build first')
  process.exit(1)
}

const PAGES = { '/halfbyte/': 'dist/cdn', '/models/': 'dist/models', '/': 'examples' }
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.wasm': 'application/wasm' }
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const CDN = `https://cdn.jsdelivr.net/npm/halfbyte@${version}/`

/** Answers with its address, which ends with a slash. `send` answers a request for a file that is there. */
const serve = (folders, port, send) =>
  new Promise((resolve) => {
    const server = createServer((request, response) => {
      const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname))
      const [prefix, folder] = Object.entries(folders).find(([prefix]) => path.startsWith(prefix)) ?? ['', '']
      const name = path.slice(prefix.length)
      const file = join(root, folder, path.endsWith('/') ? `${name}index.html` : name)
      if (prefix === '' || !existsSync(file) || !statSync(file).isFile()) {
        response.writeHead(404).end()
        return
      }
      response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream')
      send(file, response)
    })
    server.listen(port, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}/`))
  })

const sendFile = (file, response) => {
  response.setHeader('Content-Length', statSync(file).size)
  createReadStream(file).pipe(response)
}

const cdn = await serve({ '/dist/': 'dist' }, 0, (file, response) => {
  response.setHeader('Access-Control-Allow-Origin', '*')
  sendFile(file, response)
})
const pages = await serve(PAGES, Number(process.argv[2] ?? 4180), (file, response) => {
  if (extname(file) === '.html') response.end(readFileSync(file, 'utf8').replaceAll(CDN, cdn))
  else sendFile(file, response)
})
console.log(`${pages}plain-page/`)
