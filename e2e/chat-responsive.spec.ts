// In: the built chat page on a main thread four times as slow. Out: whether it goes on painting while a model is downloaded, loaded and answers.
import { expect, type Page, test } from '@playwright/test'
import { composer, openChat, openModels, ready, set, slowDown, watch } from './chat-page.ts'
import { endlessModel } from './endless-model.ts'
import { serveModels } from './model-server.ts'

interface Ended {
  readonly blocks: number
  readonly changes: number
}

/** Counts what happens to the blocks of the next answer once they have ended: nothing should. */
async function watchEnded(page: Page): Promise<() => Promise<Ended>> {
  await page.evaluate(() => {
    const seen = { blocks: 0, changes: 0 }
    const observer = new MutationObserver((records) => {
      seen.changes += records.length
    })
    const all = { subtree: true, childList: true, characterData: true, attributes: true }
    new MutationObserver((_, waiting) => {
      const blocks = [...(document.querySelector('.message.streaming .body')?.children ?? [])]
      if (blocks.length < 4) return
      waiting.disconnect()
      const ended = blocks.slice(0, -2)
      seen.blocks = ended.length
      for (const block of ended) observer.observe(block, all)
    }).observe(document.body, { subtree: true, childList: true })
    Object.assign(globalThis, { seen })
  })
  return () => page.evaluate(() => (globalThis as unknown as { seen: Ended }).seen)
}

test('a slow page goes on painting while a model is downloaded, loaded and answers', async ({
  page,
}, info) => {
  const server = await serveModels(endlessModel())
  try {
    await openChat(page)
    await set(page, { 'Longest answer': '4000' })
    await slowDown(page, 4)
    await page.evaluate(() => {
      const long: number[] = []
      Object.assign(globalThis, { long })
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) long.push(Math.round(duration))
      }).observe({ type: 'longtask' })
    })
    const longTasks = () =>
      page.evaluate(() => (globalThis as unknown as { long: number[] }).long.splice(0).join(', '))
    await openModels(page)
    await page.getByLabel('From an address').fill(server.address)
    await page.getByRole('button', { name: 'Load', exact: true }).click()
    await expect(page.getByRole('button', { name: /^Model/ })).not.toContainText('Halfbyte Tiny')
    await ready(page)
    const loading = await longTasks()
    const lengths = await watch(page)
    const touched = await watchEnded(page)
    await composer(page).fill('Say something.')
    await composer(page).press('Enter')
    await expect.poll(async () => (await lengths()).at(-1) ?? 0, { timeout: 30_000 }).toBeGreaterThan(2000)
    const answering = await longTasks()
    // How long a task takes is the machine's business too: it is reported, and what must hold is that frames went by.
    info.annotations.push({ type: 'long tasks while loading, ms', description: loading || 'none' })
    info.annotations.push({ type: 'long tasks while answering, ms', description: answering || 'none' })
    expect(new Set(await lengths()).size, 'lengths that were painted').toBeGreaterThan(3)
    const { blocks, changes } = await touched()
    expect(blocks, 'blocks that had ended').toBeGreaterThan(1)
    expect(changes, 'changes to them since').toBe(0)
  } finally {
    await server.close()
  }
})
