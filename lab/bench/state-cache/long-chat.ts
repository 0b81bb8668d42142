// npm run bench:long-chat asks the built chat page questions until its context has overflowed several times,
// and prints, for each answer, the time to the first token and the number of tokens read.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { chromium } from '@playwright/test'
import { Command } from 'commander'
import { ask, openChat, openModels, ready, set } from '../../../e2e/chat/chat-page.ts'
import { chromiumOptions } from '../../../e2e/chromium.ts'

interface Options {
  readonly model?: string
  readonly folder: string
  readonly port: string
  readonly context: string
  readonly answer: string
  readonly turns: number
  readonly think: number
}
const { model, folder, port, context, answer, turns, think } = new Command('bench:long-chat')
  .description('Times first tokens in a long chat on the built page, in Chromium.')
  .option('--model <file>', 'a GGUF file. Default: the embedded model')
  .option('--folder <name>', 'the page, a folder of build/', 'demo')
  .option('--port <n>', 'port of the page', '4188')
  .option('--context <tokens>', 'context length', '1024')
  .option('--answer <tokens>', 'longest answer', '150')
  .option('--turns <n>', 'questions', Number, 12)
  .option('--think <ms>', 'pause before each question', Number, 0)
  .parse()
  .opts<Options>()

const script = fileURLToPath(new URL('../../../e2e/page-server.ts', import.meta.url))
const server = spawn(process.execPath, [script, port, 'on', folder], { stdio: 'inherit' })
const browser = await chromium.launch(chromiumOptions())
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  page.setDefaultTimeout(300_000)
  for (let tries = 0; tries < 100; tries++) {
    if (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)) break
    await new Promise((done) => setTimeout(done, 100))
  }
  await openChat(page, `http://127.0.0.1:${port}/`)
  await set(page, { 'Context length': context, 'Longest answer': answer })
  if (model === undefined) await page.getByRole('button', { name: 'Reload the model' }).click()
  else {
    await openModels(page)
    await page.locator('models-dialog input[type=file]').setInputFiles(model)
    await page.waitForTimeout(1000)
  }
  await ready(page)
  console.log('| question | first token ms | tokens read | of |')
  console.log('|--:|--:|--:|--:|')
  for (let turn = 1; turn <= turns; turn++) {
    await ask(page, `Tell me ${turn + 1} things about rivers in some detail.`)
    const title = (await page.locator('[data-stat=speed]').getAttribute('title')) ?? ''
    const [, ms, read, all] = /after ([\d,]+) ms, (\d+) of (\d+) tokens read/.exec(title) ?? []
    console.log(`| ${turn} | ${ms} | ${read} | ${all} |`)
    await page.waitForTimeout(think)
  }
} finally {
  await browser.close()
  server.kill()
}
