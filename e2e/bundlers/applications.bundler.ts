// The examples that are applications. In: their own files, built with the packed package. Out: whether the
// page answers behind a server that behaves like the application's. Runs neither Electron nor Android.
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { open, readFile, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@playwright/test'
import { type HttpServer, openServer } from '../../test/helpers/http-server.ts'
import { packedTest as test } from '../packed/test.ts'
import { exampleFolder, runScript } from './app-folder.ts'
import { tryExample } from './example-page.ts'

const MODULES = fileURLToPath(new URL('node_modules', import.meta.url))
const run = promisify(execFile)

type Handler = (request: Request) => Promise<Response>

/** A server for a handler of Electron's `protocol.handle`. */
const serveHandler = (handler: Handler): Promise<HttpServer> =>
  openServer(async ({ url = '/' }, response) => {
    const { status, headers, body } = await handler(new Request(new URL(url, 'app://bundle/')))
    response.writeHead(status, Object.fromEntries(headers))
    if (body === null) response.end()
    else Readable.fromWeb(body as ReadableStream).pipe(response)
  })

test('the Electron example answers, even after a failure', async ({ page, packed }) => {
  const folder = await exampleFolder('electron', packed)
  await runScript(folder, 'build')
  const { answerFrom } = await import(pathToFileURL(join(folder, 'answer.js')).href)
  const handler: Handler = answerFrom(join(folder, 'dist'))
  for (const path of [
    'missing.js',
    '..%2Fmain.js',
    '%2e%2e/main.js',
    '..%2f..%2f..%2fetc%2fpasswd',
    'assets',
  ])
    expect((await handler(new Request(`app://bundle/${path}`))).status, path).toBe(404)
  const server = await serveHandler(handler)
  try {
    await tryExample(page, server.address)
  } finally {
    await server.close()
  }
})

test("the Electron example compiles against Electron's declarations", async ({ packed }) => {
  const folder = await exampleFolder('electron', packed)
  const tsc = join(MODULES, 'typescript/bin/tsc')
  const flags = '--ignoreConfig --pretty false --noEmit --allowJs --checkJs --skipLibCheck'
  const target = '--target es2023 --module nodenext --types node'
  const faults = async () => {
    const args = [tsc, ...`${flags} ${target}`.split(' '), 'main.js']
    const { stdout } = await run(process.execPath, args, { cwd: folder }).catch((failure) => failure)
    return stdout.match(/^main\.js.*$/gm) ?? []
  }
  expect(await faults()).toEqual([])
  const main = join(folder, 'main.js')
  await writeFile(main, (await readFile(main, 'utf8')).replace('supportFetchAPI', 'supportFetch'))
  expect(await faults()).toEqual([expect.stringContaining('supportFetch')])
})

const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.wasm': 'application/wasm' }

/**
 * Answers like Capacitor 8's local server on Android: no isolation headers, no ETag and no length. A range
 * gets status 206, and its Content-Range repeats the requested end, even past the file's. The WebView trims
 * the body to the range. On iOS, a page has its own scheme and requests no ranges.
 */
const serveAsAndroid = (folder: string): Promise<HttpServer> =>
  openServer(async ({ headers }, response, path) => {
    const file = join(folder, path === '/' ? 'index.html' : path)
    const size = statSync(file, { throwIfNoEntry: false })?.size
    if (size === undefined) return response.writeHead(404).end()
    response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/javascript')
    response.setHeader('Cache-Control', 'no-cache')
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
    const [start, end] = [Number(from ?? 0), Number(to || size - 1)]
    if (from !== undefined)
      response.writeHead(206, { 'Accept-Ranges': 'bytes', 'Content-Range': `bytes ${start}-${end}/${size}` })
    const handle = await open(file)
    return handle.createReadStream({ start, end: Math.min(end, size - 1) }).pipe(response)
  })

test("the Capacitor example answers from the Android project's files, even after a failure", async ({
  page,
  packed,
}) => {
  const folder = await exampleFolder('capacitor', packed)
  await runScript(folder, 'build')
  const cap = join(MODULES, '@capacitor/cli/bin/capacitor')
  await run(process.execPath, [cap, 'add', 'android'], { cwd: folder })
  const server = await serveAsAndroid(join(folder, 'android/app/src/main/assets/public'))
  try {
    await tryExample(page, server.address, false)
  } finally {
    await server.close()
  }
})
