// A site that is updated. In: folders of built pages, faults. Out: a server for one build at a time, below
// /chat/, that redirects, lies, breaks or is not there.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'
import { ISOLATION } from '../../static-server.ts'

const CONFIG = fileURLToPath(new URL('../../../demo/vite.config.ts', import.meta.url))
const BUILDS = fileURLToPath(new URL('../../../build/offline', import.meta.url))
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
}
const LOGIN = '<!doctype html><title>Log in</title><h1>Log in to this network</h1>'

/** Whether an answer was given; otherwise the file is sent. */
export type Behaviour = (path: string, response: ServerResponse, request: IncomingMessage) => boolean

/** Every request gets a page to log in, as in a hotel. */
export const portal: Behaviour = (_, response) => {
  response.setHeader('Cache-Control', 'max-age=31536000').setHeader('Content-Type', 'text/html').end(LOGIN)
  return true
}
export const failing =
  (status: number, what = /./): Behaviour =>
  (path, response) => {
    if (!what.test(path)) return false
    response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`error ${status}`)
    return true
  }
/** Moves some paths elsewhere. */
export const redirecting =
  (targets: Readonly<Record<string, string>>): Behaviour =>
  (path, response) => {
    const target = targets[path]
    if (target === undefined) return false
    response.writeHead(308, { Location: target }).end()
    return true
  }
/** No answer at all. */
export const unreachable: Behaviour = (_, response) => {
  response.socket?.destroy()
  return true
}

/** Builds the page twice; the second build has other texts, so that most of its scripts have other names. */
export async function twoBuilds(): Promise<readonly [string, string]> {
  const folders = ['first', 'second'].map((name) => join(BUILDS, name)) as [string, string]
  for (const [index, outDir] of folders.entries()) {
    const other: Plugin = {
      name: 'other-texts',
      enforce: 'pre',
      transform: (code, id) =>
        index === 1 && id.endsWith('/words/english.ts')
          ? code.replace("'Choose a model'", "'Choose a model (second build)'")
          : undefined,
    }
    await build({
      configFile: CONFIG,
      logLevel: 'error',
      plugins: [other],
      build: { outDir, emptyOutDir: true },
    })
  }
  return folders
}

export interface UpdatingSite {
  /** Of the page; ends with a slash. */
  readonly address: string
  /** Paths below the page, and what was asked for, in order. */
  readonly asked: string[]
  /** The folder that is served. */
  folder: string
  behaviour: Behaviour
  close(): Promise<void>
}

export async function updatingSite(folder: string): Promise<UpdatingSite> {
  const site = { folder, asked: [] as string[], behaviour: (() => false) as Behaviour }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site')
    site.asked.push(`${request.method} ${pathname.replace(/^\/chat\//, '')}`)
    for (const [name, value] of Object.entries(ISOLATION)) response.setHeader(name, value)
    if (site.behaviour(pathname, response, request)) return
    if (pathname === '/chat') return void response.writeHead(308, { Location: '/chat/' }).end()
    const name = join(site.folder, pathname.replace(/^\/chat\/|\/$/g, '') || 'index')
    // As hosts do that leave `.html` out.
    const file = [name, `${name}.html`].find((each) => existsSync(each) && statSync(each).isFile())
    if (!pathname.startsWith('/chat/') || file === undefined)
      return void response.writeHead(404).end('not found')
    const isAsset = pathname.includes('/assets/')
    response.setHeader('Cache-Control', isAsset ? 'max-age=31536000, immutable' : 'no-cache')
    const type = TYPES[extname(file)]
    if (type !== undefined) response.setHeader('Content-Type', type)
    sendPart(request, response, readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(site, {
    address: `http://127.0.0.1:${port}/chat/`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

function sendPart({ headers }: IncomingMessage, response: ServerResponse, bytes: Buffer): void {
  const [, first = '', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
  if (first === '') return void response.setHeader('Content-Length', bytes.length).end(bytes)
  const end = last === '' ? bytes.length : Number(last) + 1
  const part = bytes.subarray(Number(first), end)
  const range = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`
  response.writeHead(206, { 'Content-Range': range, 'Content-Length': part.length }).end(part)
}
