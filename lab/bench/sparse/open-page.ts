// Opens the sparse packs' page in Chromium, and provides the files' addresses and the processor time of the
// page's process.

import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from '@playwright/test'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import { ISOLATION, sendFile } from '../../../test/helpers/http-server.ts'
import { needs } from '../needs.ts'
import { serveBench } from '../server.ts'

interface OpenPage {
  readonly page: Page
  readonly urls: readonly string[]
  readonly browser: Browser
  close(): Promise<void>
}

export async function openPage(models: readonly URL[]): Promise<OpenPage> {
  needs({ chromium: true })
  const addressOf = (index: number) => `/packs/${index}/${models[index]?.pathname.split('/').at(-1)}`
  const server = await serveBench(undefined, (request, response, next) => {
    const model = models.find((_, at) => request.url === addressOf(at))
    if (model === undefined) return next()
    response.setHeaders(new Map(Object.entries(ISOLATION)))
    sendFile(request, response, fileURLToPath(model))
  })
  const browser = await chromium.launch(chromiumOptions())
  try {
    const page = await browser.newPage()
    page.on('pageerror', (error) => console.error(error.message))
    await page.goto(new URL('sparse/index.html', server.url).href)
    await page.waitForFunction(() => window.runSparse !== undefined)
    const close = async () => {
      await browser.close()
      await server.close()
    }
    return {
      page,
      browser,
      close,
      urls: models.map((_, index) => new URL(addressOf(index), server.url).href),
    }
  } catch (error) {
    await browser.close()
    await server.close()
    throw error
  }
}

/** Processor time of a process in milliseconds, over all threads that are still running. Linux only. */
export async function processorMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const spent = await Promise.all(
    threads.map(async (thread) => {
      // Nanoseconds; the ticks of /proc/PID/stat are 10 ms long.
      const stat = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
      return Number(stat.split(' ')[0]) / 1e6
    }),
  )
  return spent.reduce((sum, ms) => sum + ms, 0)
}
