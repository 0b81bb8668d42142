// A server that renders its page through Vite. In: the port; DEV=1 for Vite's modules instead of the build.
// Out: a page with an answer that the server computed, whose own script loads the library in the browser.
import { readFile } from 'node:fs/promises'
import { createServer as listenHttp } from 'node:http'
import { extname, join } from 'node:path'
import { createServer } from 'vite'

const isDev = process.env.DEV === '1'
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' }
const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

const vite =
  isDev &&
  (await createServer({ appType: 'custom', server: { middlewareMode: true, hmr: false, watch: null } }))

async function page() {
  const html = await readFile(isDev ? 'index.html' : 'dist/client/index.html', 'utf8')
  const { render } = isDev
    ? await vite.ssrLoadModule('/server-entry.js')
    : await import(new URL('dist/server/server-entry.js', import.meta.url))
  const shown = isDev ? await vite.transformIndexHtml('/', html) : html
  const answer = await render()
  return shown.replace('<body>', `<body><p id="answer">${answer.replaceAll('<', '&lt;')}</p>`)
}

async function sendBuilt(path, response) {
  const bytes = await readFile(join('dist/client', path)).catch(() => undefined)
  if (bytes === undefined) return response.writeHead(404).end()
  response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' })
  return response.end(bytes)
}

async function answer(request, response) {
  if (process.env.ISOLATION === 'on')
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
  const { pathname } = new URL(request.url, 'http://server')
  if (pathname === '/') return response.setHeader('Content-Type', 'text/html').end(await page())
  return isDev
    ? vite.middlewares(request, response, () => response.writeHead(404).end())
    : sendBuilt(pathname, response)
}

listenHttp((request, response) => {
  answer(request, response).catch((error) => response.writeHead(500).end(String(error.stack)))
}).listen(Number(process.argv[2]), '127.0.0.1')
