// Compares networks in Chromium: serves a file, onnxruntime-web and the page that times both.
import { fileURLToPath } from 'node:url'
import { chromium } from '@playwright/test'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import { ISOLATION, sendBytes, sendFile } from '../../../test/helpers/http-server.ts'
import { needs } from '../needs.ts'
import { serveBench } from '../server.ts'
import { processorMs } from '../sparse/open-page.ts'
import type { Comparison } from './comparison.ts'
import type { PageRequest } from './page.ts'

interface ComparingPage {
  /** Browser and version. */
  readonly browser: string
  /** Compares in a new page, so that no earlier network takes memory. */
  compare(bytes: Uint8Array, how: Omit<PageRequest, 'model' | 'runtime'>): Promise<Comparison>
  close(): Promise<void>
}

const MODEL = '/model.onnx'
const RUNTIME = '/onnxruntime/'
const RUNTIME_FOLDER = new URL('../../../node_modules/onnxruntime-web/dist/', import.meta.url)

export async function openComparingPage(): Promise<ComparingPage> {
  needs({ chromium: true })
  let model = new Uint8Array()
  const server = await serveBench(undefined, (request, response, next) => {
    const [, script] = /^\/onnxruntime\/([\w.-]+)$/.exec(request.url ?? '') ?? []
    if (request.url !== MODEL && script === undefined) return next()
    response.setHeaders(new Map(Object.entries(ISOLATION)))
    if (script === undefined) sendBytes(request, response, MODEL, model)
    else sendFile(request, response, fileURLToPath(new URL(script, RUNTIME_FOLDER)))
  })
  const at = (path: string) => new URL(path, server.url).href
  const browser = await chromium.launch(chromiumOptions())
  const session = await browser.newBrowserCDPSession()
  const spentMs = async (): Promise<number> => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    const pages = processInfo.filter(({ type }) => type === 'renderer')
    const spent = await Promise.all(pages.map(({ id }) => processorMs(id)))
    return spent.reduce((sum, ms) => sum + ms, 0)
  }
  return {
    browser: `Chromium ${browser.version()}`,
    async compare(bytes, how) {
      model = new Uint8Array(bytes)
      const page = await browser.newPage()
      page.on('pageerror', (error) => console.error(error.message))
      await page.exposeFunction('processorMs', spentMs)
      await page.goto(at('graphs/index.html'))
      await page.waitForFunction(() => window.compareNetworks !== undefined)
      const request = { ...how, model: at(MODEL), runtime: at(RUNTIME) }
      const compared = await page.evaluate((each) => window.compareNetworks!(each), request)
      await page.close()
      return compared
    },
    async close() {
      await browser.close()
      await server.close()
    },
  }
}
