// node lab/bench/scheduler/main.ts measures concurrent sequences, drafts and background work in Chromium, as
// a table and JSON.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { pathToFileURL } from 'node:url'
import { chromium } from '@playwright/test'
import { Command } from 'commander'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import { BENCH_FOLDER, modelFile } from '../model-file.ts'
import { needs } from '../needs.ts'
import { serveBench } from '../server.ts'
import { QWEN_05B } from '../shapes.ts'
import { spreadText } from '../spread.ts'
import { type Measured, PARTS, type Part } from './measure.ts'

const numbers = (text: string) => text.split(',').map(Number)

const options = new Command('bench:scheduler')
  .description("Times the scheduler on a random model of Qwen2.5-0.5B's shape, in Chromium.")
  .option('--model <file>', "a .gguf or .hbm file; default: random weights of Qwen2.5-0.5B's shape")
  .option('--parts <list>', PARTS.join(', '), (text) => text.split(',') as Part[], [...PARTS])
  .option('--threads <list>', 'thread counts', numbers, [2])
  .option('--rounds <n>', 'rounds; ratios are computed within a round', Number, 3)
  .option('--tokens <n>', 'tokens per text; three or four times as many with drafts', Number, 32)
  .option('--sequences <list>', 'concurrent sequences', numbers, [1, 2, 4, 8, 16])
  .option('--rates <list>', 'probability that a draft is right', numbers, [0, 0.5, 0.8])
  .option('--json <file>', 'file for the figures', 'build/bench/scheduler.json')
  .parse()
  .opts<{
    model?: string
    parts: Part[]
    threads: number[]
    rounds: number
    tokens: number
    sequences: number[]
    rates: number[]
    json: string
  }>()

needs({ chromium: true })
const model = options.model === undefined ? await modelFile(QWEN_05B) : pathToFileURL(options.model)
const server = await serveBench(model)
const browser = await chromium.launch(chromiumOptions())
const results: Measured[] = []
try {
  const { parts, rounds, tokens, sequences, rates } = options
  for (const threads of options.threads) {
    const page = await browser.newPage()
    page.on('pageerror', (error) => console.error(error.message))
    await page.goto(new URL('scheduler/index.html', server.url).href)
    await page.waitForFunction(() => window.runScheduler !== undefined)
    const job = {
      type: 'measure' as const,
      modelUrl: server.modelUrl,
      threads,
      parts,
      rounds,
      tokens,
      sequences,
      rates,
    } as const
    results.push(await page.evaluate((how) => window.runScheduler(how), job))
    await page.close()
  }
  const about = {
    date: new Date().toISOString(),
    machine: `${cpus().length} x ${cpus()[0]?.model}`,
    browser: `Chromium ${browser.version()}`,
    command: ['node lab/bench/scheduler/main.ts', ...process.argv.slice(2)].join(' '),
  }
  await mkdir(BENCH_FOLDER, { recursive: true })
  await writeFile(options.json, `${JSON.stringify({ ...about, results }, undefined, 1)}\n`)
  console.log(`\n${about.machine}, ${about.browser}: \`${about.command}\`\n`)
  for (const measured of results) console.log(table(measured))
} finally {
  await browser.close()
  await server.close()
}

function table({ threads, build, figures }: Measured): string {
  const rows = figures.map(
    ({ name, ms, ratio, note }) => `| ${name} | ${spreadText(ms, 0)} | ${spreadText(ratio, 2)} | ${note} |`,
  )
  return [
    `${build}, ${threads} threads; median (min-max)\n`,
    '| | ms | times as fast | |',
    '|---|--:|--:|---|',
    ...rows,
    '',
  ].join('\n')
}
