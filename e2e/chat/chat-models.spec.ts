// Models. In: the built chat page, a model server, files. Out: whether models can be downloaded, cancelled,
// picked, dropped and rejected.
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { expect, type Page, test } from '@playwright/test'
import { LLAMA_1B } from '../../lab/bench/shapes.ts'
import { hollowModel } from '../../test/conformance/testing/writers/hollow-model.ts'
import { endlessModel } from '../endless-model.ts'
import { type ModelServer, serveModels } from '../model-server.ts'
import { violations } from '../violations.ts'
import {
  answers,
  ask,
  composer,
  loadingLine,
  openChat,
  openModels,
  overflowing,
  ready,
  say,
  set,
  storedModels,
  watch,
} from './chat-page.ts'

const endless = endlessModel()
const tiny = {
  name: 'tiny.hbm',
  buffer: readFileSync(new URL('../../test/conformance/models/halfbyte-tiny.hbm', import.meta.url)),
}
/** This model loads, but its logits are not numbers. */
const mute = endlessModel({ isMute: true })
/** Over 256 MB. */
const LARGE = { ...LLAMA_1B, layers: 6, vocabSize: 1024 }
const broken = Buffer.from('GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\x01\0\0\0\0\0\0\0', 'latin1')
const picked = (files: readonly { readonly name: string; readonly buffer: Buffer }[]) =>
  files.map((file) => ({ ...file, mimeType: 'application/octet-stream' }))

let server: ModelServer

test.beforeAll(async () => {
  server = await serveModels([...endless, tiny, { name: 'broken.gguf', buffer: broken }])
})
test.beforeEach(() => {
  server.bytesPerSecond = undefined
  server.requests.length = 0
})
test.afterAll(() => server.close())

const modelName = (page: Page) => page.locator('.bar .model')

async function loadAddress(page: Page, address: string): Promise<void> {
  await openModels(page)
  await page.getByLabel('From an address').fill(address)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
}

async function pick(page: Page, files: Parameters<typeof picked>[0]): Promise<void> {
  await openModels(page)
  await page.getByLabel('Choose files').setInputFiles(picked(files))
}

/** Length of the longest last answer in the browser's database, either complete or as a draft. */
function savedAnswer(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const done = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    const database = await done(indexedDB.open('halfbyte-chat'))
    const store = database.transaction('conversations').objectStore('conversations')
    type Messages = readonly { role: string; content: string }[]
    const all: { messages?: Messages; tail?: Messages }[] = await done(store.getAll())
    database.close()
    const last = all.map(({ messages, tail = [] }) => (messages ?? tail).at(-1))
    return Math.max(0, ...last.map((said) => (said?.role === 'assistant' ? said.content.length : 0)))
  })
}

const storedFiles = async (page: Page): Promise<number> => (await storedModels(page)).length

test('a model at a URL shows its progress, can be cancelled, and is downloaded only once', async ({
  page,
}) => {
  await openChat(page)
  server.bytesPerSecond = 400_000
  await loadAddress(page, `${server.address}tiny.hbm`)
  await expect(loadingLine(page)).toContainText(
    /Downloading\s+\d\.\d MB of 1\.\d MB, [\d.]+ [kM]B\/s, \d+ sec left/,
  )
  await expect(page.getByRole('progressbar', { name: 'Downloading' })).toBeVisible()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(loadingLine(page)).toHaveCount(0)
  await expect(modelName(page)).toContainText('Halfbyte Stories')

  server.bytesPerSecond = undefined
  await loadAddress(page, `${server.address}tiny.hbm`)
  await expect(modelName(page)).toContainText('tiny.hbm')
  await ready(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await expect(answers(page).locator('.body')).not.toBeEmpty()
  // Before a download, the header is read in advance.
  expect(server.requests).toEqual(Array(4).fill('/tiny.hbm'))

  await page.reload()
  await ready(page)
  await expect(modelName(page)).toContainText('tiny.hbm')
  expect(server.requests, 'the second visit reads from the device').toHaveLength(4)

  await openModels(page)
  await expect(page.getByText('1.6 MB on this device')).toBeVisible()
  await page.getByRole('button', { name: 'Forget tiny.hbm' }).click()
  await expect.poll(() => storedFiles(page), { message: 'nothing is left on the device' }).toBe(0)
  await page.getByRole('button', { name: /^Halfbyte Stories/ }).click()
  await ready(page)
  await expect(modelName(page)).toContainText('Halfbyte Stories')
  await loadAddress(page, `${server.address}tiny.hbm`)
  await expect
    .poll(() => server.requests, { message: 'a forgotten model is downloaded again' })
    .toHaveLength(6)
  await ready(page)
})

test('a safetensors folder at a URL is downloaded file by file', async ({ page }) => {
  await openChat(page)
  await loadAddress(page, server.address)
  await ready(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await expect(answers(page).locator('.body')).not.toBeEmpty()
  expect(server.requests).toContain('/model.safetensors')
})

test('files of one model are picked together, and its answer streams and can be stopped', async ({
  page,
}) => {
  await openChat(page)
  await pick(page, endless)
  await ready(page)
  await expect(modelName(page)).toContainText('model.safetensors')
  await set(page, { 'Longest answer': '4000' })
  const lengths = await watch(page)
  await composer(page).fill('Say something.')
  await composer(page).press('Control+Enter')
  await expect.poll(async () => (await lengths()).length).toBeGreaterThan(20)
  await page.getByRole('button', { name: 'Stop' }).click()
  await ready(page)
  await expect(page.locator('.ending')).toHaveText('Stopped')
  const grown = await lengths()
  expect(grown).toEqual([...grown].sort((a, b) => a - b))
})

test('the page paints throughout a long answer, and keeps the part so far when it closes', async ({
  page,
}, info) => {
  await openChat(page)
  // Much longer than the test watches, so the page always closes in the middle of it.
  await set(page, { 'Longest answer': '8000', 'Context length': '16384' })
  await pick(page, endless)
  await ready(page)
  await expect(modelName(page)).toContainText('model.safetensors')
  await page.evaluate(() => {
    const long: number[] = []
    Object.assign(globalThis, { long })
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) long.push(duration)
    }).observe({ type: 'longtask' })
  })
  const lengths = await watch(page)
  await composer(page).fill('Say something.')
  await composer(page).press('Control+Enter')
  await expect.poll(() => savedAnswer(page), { intervals: [50] }).toBeGreaterThan(3000)
  const long = await page.evaluate(() => (globalThis as unknown as { long: number[] }).long)
  // How long a task takes also depends on the machine, so it is only reported. The test requires that frames
  // were painted.
  info.annotations.push({ type: 'long tasks, ms', description: long.join(', ') || 'none' })
  expect(new Set(await lengths()).size, 'lengths that were painted').toBeGreaterThan(20)

  const before = await savedAnswer(page)
  await page.reload()
  await expect(page.locator('.ending')).toHaveText('Interrupted')
  // The page renders only nearby messages. A long answer moves its question out of range, and grows upwards
  // while it opens.
  await expect(async () => {
    await page.locator('.log').evaluate((log) => log.scrollTo(0, 0))
    await expect(page.locator('.message.user .body')).toHaveText('Say something.', { timeout: 500 })
  }).toPass()
  const kept = await savedAnswer(page)
  expect(kept, 'letters that are kept').toBeGreaterThanOrEqual(before)
  // The Markdown markers are not shown.
  expect((await answers(page).locator('.body').innerText()).length).toBeGreaterThan(kept / 2)
  await ready(page)
  await expect(modelName(page), 'a file cannot be opened again').toContainText('Halfbyte Stories')
})

test('a file can be dropped anywhere', async ({ page }) => {
  await openChat(page)
  await page.evaluate(async (bytes) => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))], 'mine.hbm'))
    const drop = (type: string) =>
      document.body.dispatchEvent(
        new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }),
      )
    drop('dragover')
    if (document.querySelector('.dropping') === null) throw new Error('the page does not show where to drop')
    drop('drop')
  }, tiny.buffer.toString('base64'))
  await expect(modelName(page)).toContainText('mine.hbm')
  await ready(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await expect(answers(page).locator('.body')).not.toBeEmpty()
})

test('a broken file is rejected with a message, and the current model continues', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await pick(page, [{ name: 'broken.gguf', buffer: broken }])
  await expect(page.getByRole('alert')).toContainText('broken.gguf')
  await expect(modelName(page)).toContainText('Halfbyte Stories')
  await ask(page, 'Are you there?')
  await expect(answers(page)).toHaveCount(2)
  await expect(answers(page).last().locator('.body')).not.toBeEmpty()
  await page.getByRole('button', { name: 'Continue with Halfbyte Stories' }).click()
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('a model that loads but cannot answer does not replace one that can', async ({ page }) => {
  await openChat(page)
  await pick(page, mute)
  await expect(page.getByRole('alert')).toContainText(/NaN|not a number/i)
  await expect(modelName(page)).toContainText('Halfbyte Stories')
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await expect(answers(page).locator('.body')).not.toBeEmpty()
})

test('the chat continues while another model is downloaded, and each answer says which model wrote it', async ({
  page,
}) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  server.bytesPerSecond = 50_000
  await loadAddress(page, `${server.address}tiny.hbm`)
  await expect(loadingLine(page)).toContainText(/tiny\.hbm\s*Downloading/)
  await say(page, 'Hello!')
  await expect(answers(page).locator('.actions')).toBeVisible()
  await expect(answers(page).locator('.body')).not.toBeEmpty()
  await expect(loadingLine(page), 'the download goes on').toContainText('Downloading')
  await expect(modelName(page)).toContainText('Halfbyte Stories')
  await expect(page.locator('.by')).toHaveCount(0)
  server.bytesPerSecond = undefined
  await expect(modelName(page)).toContainText('tiny.hbm')
  await ask(page, 'Hello again!')
  await expect(page.locator('.by')).toHaveText(['Halfbyte Stories', 'tiny.hbm'])
})

test('an answer in progress is finished before another model takes over', async ({ page }) => {
  await openChat(page)
  await pick(page, endless)
  await expect(modelName(page)).toContainText('model.safetensors')
  await set(page, { 'Longest answer': '300' })
  await say(page, 'Say something.')
  await openModels(page)
  await page.getByRole('button', { name: /^Halfbyte Stories/ }).click()
  await expect(modelName(page)).toContainText('Halfbyte Stories')
  await expect(answers(page).locator('.ending')).toHaveText('Reached the length limit')
  await expect(answers(page).locator('.by')).toHaveText('model.safetensors')
})

test('a model too large to stay in memory next to another is unloaded, and loaded again if the other one fails', async ({
  page,
}, info) => {
  test.slow()
  const { header, size } = hollowModel(LARGE, 'Q8_0')
  const large = info.outputPath('large.gguf')
  writeFileSync(large, header)
  truncateSync(large, size)
  await openChat(page)
  await set(page, { 'Longest answer': '5' })
  await openModels(page)
  await page.getByLabel('Choose files').setInputFiles(large)
  await expect(modelName(page)).toContainText('large.gguf')
  await pick(page, mute)
  await expect(page.getByRole('alert')).toContainText(/NaN|not a number/i)
  await ready(page)
  await expect(modelName(page)).toContainText('large.gguf')
  await expect(page.getByRole('alert')).toContainText(/NaN|not a number/i)
  await page.getByRole('button', { name: 'Continue with large.gguf' }).click()
  await ask(page, 'Hello!')
  await expect(page.getByRole('alert')).toHaveCount(0)
  rmSync(large)
})

test('after a visit with a file, the page says that another model answers, and labels each model’s answers', async ({
  page,
}) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  await pick(page, [tiny])
  await expect(modelName(page)).toContainText('tiny.hbm')
  await ready(page)
  await ask(page, 'Hello!')
  await page.reload()
  await ready(page)
  await expect(page.locator('.notice')).toContainText('tiny.hbm was a file on this device')
  await expect(page.locator('.by')).toHaveText('tiny.hbm')
  await ask(page, 'Who are you?')
  await expect(page.locator('.by')).toHaveText(['tiny.hbm', 'Halfbyte Stories'])
  await expect(page.locator('.notice')).toHaveCount(0)
  await page.reload()
  await ready(page)
  await expect(page.locator('.notice'), 'the page says it only once').toHaveCount(0)
})

test('an address that cannot be loaded is rejected with a message, and the next visit does not load it', async ({
  page,
}) => {
  await openChat(page)
  await loadAddress(page, `${server.address}nowhere.gguf`)
  await expect(page.getByRole('alert')).toContainText('nowhere.gguf does not exist on the server.')
  await loadAddress(page, `${server.address}broken.gguf`)
  await expect(page.getByRole('alert')).toContainText('broken.gguf')
  // Files that are not models leave nothing on the device, and are not listed.
  await expect.poll(() => storedFiles(page)).toBe(0)
  await openModels(page)
  await expect(page.getByRole('dialog').getByText('broken.gguf')).toHaveCount(0)
  await page.keyboard.press('Escape')
  await page.reload()
  await ready(page)
  await expect(modelName(page)).toContainText('Halfbyte Stories')
})

test('invalid addresses are rejected without a request, and an offline device says so', async ({
  page,
  context,
}) => {
  await openChat(page)
  for (const [address, why] of [
    ['https://', 'is not an address'],
    ['ftp://models.example/a.gguf', 'Use an address that starts with https://'],
    ['file:///home/me/a.gguf', 'choose the file from this device'],
  ] as const) {
    await loadAddress(page, address)
    await expect(page.getByRole('alert')).toContainText(why)
    await expect(loadingLine(page)).toHaveCount(0)
    await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0)
  }
  await context.setOffline(true)
  // The page knows this at once, without a request or a wait.
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await loadAddress(page, 'https://models.example/tiny.hbm')
  await expect(page.getByRole('alert')).toContainText('This device is offline')
  expect(asked.filter((address) => address.includes('models.example'))).toEqual([])
  await page.screenshot({ path: 'build/screens/offline-load.png' })
  // The page tries an address that may be stored on this device, and continues by itself once there is a
  // connection.
  await loadAddress(page, `${server.address}tiny.hbm`)
  await expect(page.getByRole('alert')).toContainText('Loading continues when the connection is back')
  await context.setOffline(false)
  await expect(modelName(page)).toContainText('tiny.hbm')
  await ready(page)
})

test('a repository of the hub is loaded by its name, and the error for one that cannot be loaded says how the name was interpreted', async ({
  page,
}) => {
  const headers = { 'Access-Control-Allow-Origin': '*' }
  await page.route('https://huggingface.co/**', (route) =>
    route.request().url() === 'https://huggingface.co/models/tiny/resolve/main/tiny.hbm'
      ? route.fulfill({ headers, body: tiny.buffer })
      : route.fulfill({ headers, status: 401, body: 'Invalid username or password.' }),
  )
  await openChat(page)
  await loadAddress(page, 'models/nothing')
  await expect(page.locator('.notice details')).toContainText(
    'models/nothing was interpreted as a repository on https://huggingface.co/; write ./models/nothing for',
  )
  await loadAddress(page, 'models/tiny:tiny.hbm')
  await ready(page)
  await expect(modelName(page)).toContainText('tiny.hbm')
  await openModels(page)
  await expect(page.getByText('1.6 MB on this device · Hugging Face')).toBeVisible()
})

test('if storage is full, one tap removes the least recently used models', async ({ page }) => {
  await openChat(page)
  const session = await page.context().newCDPSession(page)
  const quota = (quotaSize: number) =>
    session.send('Storage.overrideQuotaForOrigin', { origin: new URL(page.url()).origin, quotaSize })
  await quota(200_000)
  await loadAddress(page, `${server.address}tiny.hbm`)
  await expect(page.getByRole('alert')).toContainText(
    /^1\.6 MB of storage is needed, (?:but only [\d.]+ [kKM]?B is free|but the browser does not grant it)\./,
  )
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/storage-full.png' })
  // The model answers without being stored, and the page does not claim that it is.
  await page.getByRole('button', { name: 'Load without storing it' }).click()
  await ready(page)
  await expect(modelName(page)).toContainText('tiny.hbm')
  await ask(page, 'Hello!')
  await openModels(page)
  await expect(page.getByRole('dialog').getByText('tiny.hbm')).toHaveCount(0)
  await page.getByRole('button', { name: /^Halfbyte Stories/ }).click()
  await ready(page)
  await expect(modelName(page)).toContainText('Halfbyte Stories')
  await loadAddress(page, `${server.address}tiny.hbm`)
  await expect(page.getByRole('alert')).toContainText('of storage is needed')
  await quota(1e9)
  await page.getByRole('button', { name: 'Remove least recently used models' }).click()
  await ready(page)
  await expect(modelName(page)).toContainText('tiny.hbm')
})

test('another model continues the conversation', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await pick(page, endless)
  await ready(page)
  await ask(page, 'Go on.')
  await expect(page.locator('.message')).toHaveCount(4)
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('the log follows a growing answer, even when a keyboard opens, until the user scrolls up', async ({
  page,
}) => {
  await openChat(page)
  await pick(page, endless)
  await ready(page)
  await set(page, { 'Longest answer': '4000' })
  const lengths = await watch(page)
  await composer(page).fill('Say something.')
  await composer(page).press('Control+Enter')
  const left = () =>
    page.locator('.log').evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight)
  const painted = () => expect.poll(async () => (await lengths()).at(-1) ?? 0)
  await painted().toBeGreaterThan(1500)
  expect(await left()).toBeLessThan(100)
  await page.setViewportSize({ width: 360, height: 400 })
  await expect.poll(left).toBeLessThan(100)
  const toEnd = page.getByRole('button', { name: 'Jump to the newest message' })
  await expect(toEnd).toHaveCount(0)

  await page.locator('.log').evaluate((log) => log.scrollBy(0, -40))
  await expect(toEnd).toBeVisible()
  const top = () => page.locator('.log').evaluate((log) => log.scrollTop)
  const before = await top()
  const length = (await lengths()).at(-1) ?? 0
  await painted().toBeGreaterThan(length + 300)
  expect(await top(), 'the text being read does not move').toBe(before)
  await toEnd.click()
  await expect.poll(left).toBeLessThan(100)
  await page.keyboard.press('Escape')
  await ready(page)
})

test("on a phone, a model's name is replaced by its load progress", async ({ page }) => {
  const name = 'a-model-of-a-maker-with-a-very-long-name-instruct.Q4_K_M.hbm'
  const named = await serveModels([{ ...tiny, name }])
  try {
    await openChat(page)
    named.bytesPerSecond = 300_000
    await loadAddress(page, named.address + name)
    await expect(loadingLine(page)).toContainText(/MB of 1\.\d MB/)
    const [label, size] = await loadingLine(page).evaluate((line) => {
      const progress = line.querySelector(':scope > span:not(.name)')!
      const { right } = progress.getBoundingClientRect()
      const figures = progress.querySelector('.figures')!.firstChild as Text
      const range = document.createRange()
      range.setStart(figures, 0)
      range.setEnd(figures, figures.data.indexOf('MB of') + 'MB of 1.6 MB'.length)
      return [progress.querySelector('b')!, range].map((each) => right - each.getBoundingClientRect().right)
    })
    expect(label, 'space to the right of the label').toBeGreaterThan(0)
    expect(size, 'space to the right of the sizes').toBeGreaterThan(0)
  } finally {
    await named.close()
  }
})
