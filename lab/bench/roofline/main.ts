// npm run roofline measures the machine's limits and a model's distance to them in Chromium, as tables and
// JSON.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { pathToFileURL } from 'node:url'
import { chromium } from '@playwright/test'
import { Command, Option } from 'commander'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import type { Build } from '../../../src/core/runtime/features.ts'
import type { WeightPolicy } from '../../../src/core/weights/policy.ts'
import { BENCH_FOLDER, modelFile } from '../model-file.ts'
import { needs } from '../needs.ts'
import { serveBench } from '../server.ts'
import { QWEN_05B } from '../shapes.ts'
import { analyse } from './analyse.ts'
import { type Effort, FULL } from './jobs.ts'
import { aligned, allTables, markdown } from './tables.ts'

const numbers = (text: string) => text.split(',').map(Number)

const options = new Command('roofline')
  .description('Measures this machine’s limits in Chromium, and how close a model gets to them.')
  .option('--model <file>', "a .gguf or .hbm file; default: random weights of Qwen2.5-0.5B's shape")
  .option('--builds <list>', 'builds', (text) => text.split(',') as Build[], [...FULL.builds])
  .option('--threads <list>', 'thread counts', numbers, [...FULL.threads])
  .option(
    '--sets <list>',
    'working sets, MiB',
    numbers,
    FULL.sets.map((bytes) => bytes / 2 ** 20),
  )
  .option('--samples <n>', 'samples per figure', Number, FULL.samples)
  .option('--step <ms>', 'minimum length of a sample of a step', Number, FULL.stepMs)
  .option('--position <n>', 'positions before the decode step', Number, FULL.position)
  .option('--chunk <n>', 'rows of the prefill chunk', Number, FULL.chunk)
  .addOption(
    new Option('--weights <policy>', 'weight policy').choices(['auto', 'f32', 'w8', 'w4']).default('auto'),
  )
  .option('--json <file>', 'file for the samples', 'build/bench/roofline.json')
  .addOption(
    new Option('--format <kind>', 'format of the tables').choices(['text', 'markdown']).default('text'),
  )
  .parse()
  .opts<{
    model?: string
    builds: Build[]
    threads: number[]
    sets: number[]
    samples: number
    step: number
    position: number
    chunk: number
    weights: WeightPolicy
    json: string
    format: 'text' | 'markdown'
  }>()

needs({ chromium: true })
const effort: Effort = {
  ...FULL,
  builds: options.builds,
  threads: options.threads,
  samples: options.samples,
  stepMs: options.step,
  position: options.position,
  chunk: options.chunk,
  weights: options.weights,
  sets: options.sets.map((size) => size * 2 ** 20).toSorted((a, b) => a - b),
}
const model = options.model === undefined ? await modelFile(QWEN_05B) : pathToFileURL(options.model)
const server = await serveBench(model)
const browser = await chromium.launch(chromiumOptions())
const started = performance.now()
try {
  const page = await browser.newPage()
  page.on('pageerror', (error) => console.error(error.message))
  page.on('console', (message) => {
    if (message.type() === 'log' || message.type() === 'error') console.error(message.text())
  })
  await page.goto(new URL('roofline/index.html', server.url).href)
  await page.waitForFunction(() => window.runRoofline !== undefined)
  const measured = await page.evaluate(([url, how]) => window.runRoofline(url, how), [
    server.modelUrl,
    effort,
  ] as const)
  const steps = analyse(measured)
  const about = {
    date: new Date().toISOString(),
    machine: `${cpus().length} x ${cpus()[0]?.model}`,
    browser: `Chromium ${browser.version()}`,
    model: measured.models[0]?.name,
    command: ['npm run roofline --', ...process.argv.slice(2)].join(' '),
    seconds: Math.round((performance.now() - started) / 1000),
  }
  await mkdir(BENCH_FOLDER, { recursive: true })
  await writeFile(options.json, `${JSON.stringify({ ...about, effort, steps, ...measured }, undefined, 1)}\n`)
  const tables = allTables(measured.limits, steps)
  console.log(
    `\n${about.machine}, ${about.browser}, ${about.model}, ${about.seconds} s: \`${about.command}\`\n`,
  )
  for (const table of tables) console.log(options.format === 'text' ? aligned(table) : markdown(table))
} finally {
  await browser.close()
  await server.close()
}
