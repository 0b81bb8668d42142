// Serves the pages of examples/ with the library and the models, on port 4180 by default. A second server on
// another origin stands in for a CDN.
import { existsSync, readFileSync } from 'node:fs'
import { extname, join, normalize } from 'node:path'
import { requirePinnedNode, root } from './pinned-node.mjs'

requirePinnedNode()
// Older versions of Node cannot run TypeScript.
const { openServer, sendFile } = await import('../test/helpers/http-server.ts')
if (!existsSync(join(root, 'dist/cdn/halfbyte.js'))) {
  console.error('examples: there is no dist; run npm run build first')
  process.exit(1)
}

const PAGES = {
  '/halfbyte/': 'dist/cdn',
  '/models/': 'dist/models',
  '/guide/': 'docs/guide',
  '/': 'examples',
}
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const CDN = `https://cdn.jsdelivr.net/npm/halfbyte@${version}/`

/** Serves folders of the repository by prefix. `send` answers a request for a file in one of them. */
const serve = (folders, port, send) =>
  openServer((request, response, asked) => {
    const path = normalize(asked)
    const [prefix, folder] = Object.entries(folders).find(([prefix]) => path.startsWith(prefix)) ?? []
    if (prefix === undefined) return void response.writeHead(404).end()
    const name = path.slice(prefix.length)
    return send(request, response, join(root, folder, path.endsWith('/') ? `${name}index.html` : name))
  }, port)

const cdn = await serve({ '/dist/': 'dist' }, 0, (request, response, file) => {
  response.setHeader('Access-Control-Allow-Origin', '*')
  sendFile(request, response, file)
})
const pages = await serve(PAGES, Number(process.argv[2] ?? 4180), (request, response, file) => {
  if (extname(file) !== '.html' || !existsSync(file)) return sendFile(request, response, file)
  response.setHeader('Content-Type', 'text/html; charset=utf-8')
  return response.end(readFileSync(file, 'utf8').replaceAll(CDN, cdn.address))
})
console.log(`${pages.address}plain-page/`)
