// Memory of pages. In: a page. Out: bytes of its heap, with and without its workers.
import type { Page } from '@playwright/test'

/** Bytes of the page's heap after a garbage collection. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.enable')
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize
}

/**
 * Bytes of the heaps of a page and its workers, without the engine's memory. Only available in isolated
 * pages.
 */
export async function memoryOf(page: Page): Promise<number> {
  await page.bringToFront()
  return page.evaluate(async () => {
    const { performance: clock } = globalThis as unknown as {
      readonly performance: { measureUserAgentSpecificMemory(): Promise<{ readonly bytes: number }> }
    }
    return (await clock.measureUserAgentSpecificMemory()).bytes
  })
}
