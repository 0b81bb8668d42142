// Serves one build of the chat page at a time, below /chat/. On request it redirects, sends wrong files,
// fails or is unreachable.
import { existsSync, readFileSync, statSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'
import { ISOLATION, openServer, sendBytes } from '../../../test/helpers/http-server.ts'

const CONFIG = fileURLToPath(new URL('../../../demo/vite.config.ts', import.meta.url))
const FIRST = fileURLToPath(new URL('../../../build/demo', import.meta.url))
const SECOND = fileURLToPath(new URL('../../../build/offline', import.meta.url))
const LOGIN = '<!doctype html><title>Log in</title><h1>Log in to this network</h1>'

/** Returns whether it has answered; if not, the server sends the file. */
export type Behaviour = (path: string, response: ServerResponse, request: IncomingMessage) => boolean

/** Answers every request with a login page, like a hotel's captive portal. */
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
/** Redirects some paths. */
export const redirecting =
  (targets: Readonly<Record<string, string>>): Behaviour =>
  (path, response) => {
    const target = targets[path]
    if (target === undefined) return false
    response.writeHead(308, { Location: target }).end()
    return true
  }
/** Does not answer at all. */
export const unreachable: Behaviour = (_, response) => {
  response.socket?.destroy()
  return true
}

/**
 * The built page, and a second build with different texts, so that most of its scripts have different names.
 */
export async function twoBuilds(): Promise<readonly [string, string]> {
  const other: Plugin = {
    name: 'other-texts',
    enforce: 'pre',
    transform: (code, id) =>
      id.endsWith('/words/english.ts')
        ? code.replace("'Choose a model'", "'Choose a model (second build)'")
        : undefined,
  }
  await build({
    configFile: CONFIG,
    logLevel: 'error',
    plugins: [other],
    build: { outDir: SECOND, emptyOutDir: true },
  })
  return [FIRST, SECOND]
}

export interface UpdatingSite {
  /** The page's URL; ends with a slash. */
  readonly address: string
  /** Requested paths, relative to the page, in order. */
  readonly asked: string[]
  /** The folder that is served. */
  folder: string
  behaviour: Behaviour
  close(): Promise<void>
}

export async function updatingSite(folder: string): Promise<UpdatingSite> {
  const site = { folder, asked: [] as string[], behaviour: (() => false) as Behaviour }
  const { address, close } = await openServer((request, response, path) => {
    site.asked.push(`${request.method} ${path.replace(/^\/chat\//, '')}`)
    response.setHeaders(new Map(Object.entries(ISOLATION)))
    if (site.behaviour(path, response, request)) return
    if (path === '/chat') return void response.writeHead(308, { Location: '/chat/' }).end()
    const name = join(site.folder, path.replace(/^\/chat\/|\/$/g, '') || 'index')
    // Serves addresses without `.html`, like some hosts.
    const file = [name, `${name}.html`].find((each) => existsSync(each) && statSync(each).isFile())
    if (!path.startsWith('/chat/') || file === undefined) return void response.writeHead(404).end('not found')
    const isAsset = path.includes('/assets/')
    response.setHeader('Cache-Control', isAsset ? 'max-age=31536000, immutable' : 'no-cache')
    sendBytes(request, response, file, readFileSync(file))
  })
  return Object.assign(site, { address: `${address}chat/`, close })
}
