// node lab/bench/pools/main.ts measures tokens per second of every pool in one run of Chromium, as tables and
// JSON.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Browser, chromium, type Page } from '@playwright/test'
import { Command } from 'commander'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import { BENCH_FOLDER, modelFile } from '../model-file.ts'
import { needs } from '../needs.ts'
import { serveBench } from '../server.ts'
import { QWEN_05B, SHAPES } from '../shapes.ts'
import { spread, spreadText } from '../spread.ts'
import type { Case, Job, Result, Sample } from './page.ts'

const options = new Command('bench:pools')
  .description('Compares the pools on a random model, in Chromium.')
  .option('--model <file>', 'a .gguf or .hbm file; default: random weights')
  .option('--shape <name>', `their shape: ${SHAPES.map(({ name }) => name).join(', ')}`, QWEN_05B.name)
  .option('--pages <list>', 'plain, isolated', (text) => text.split(','), ['plain', 'isolated'])
  .option('--threads <n>', 'workers', Number, 2)
  .option('--loads', 'only loads, with stored measurements and without')
  .option('--slow', 'also with one worker three times slower')
  .option('--rounds <n>', 'rounds; ratios are computed within a round', Number, 5)
  .option('--prompt <n>', 'tokens of the prompt', Number, 240)
  .option('--tokens <n>', 'tokens decoded', Number, 40)
  .option('--json <file>', 'file for the figures', 'build/bench/pools.json')
  .parse()
  .opts<{
    model?: string
    shape: string
    pages: string[]
    threads: number
    loads?: true
    slow?: true
    rounds: number
    prompt: number
    tokens: number
    json: string
  }>()

needs({ chromium: true })
const shape = SHAPES.find(({ name }) => name === options.shape)
if (shape === undefined) throw new Error(`there is no shape ${options.shape}`)
const model = options.model === undefined ? await modelFile(shape) : pathToFileURL(options.model)
const browser = await chromium.launch(chromiumOptions())
const tables: { page: string; results: Result[] }[] = []
try {
  for (const page of options.pages) {
    if (options.loads) console.log(`${page} page: ${await loads(browser, page === 'isolated')}`)
    else tables.push({ page, results: await measure(browser, page === 'isolated') })
  }
} finally {
  await browser.close()
}
const about = {
  date: new Date().toISOString(),
  machine: `${cpus().length} x ${cpus()[0]?.model}`,
  browser: `Chromium ${browser.version()}`,
  command: ['node lab/bench/pools/main.ts', ...process.argv.slice(2)].join(' '),
}
await mkdir(BENCH_FOLDER, { recursive: true })
await writeFile(options.json, `${JSON.stringify({ ...about, tables }, undefined, 1)}\n`)
console.log(`\n${about.machine}, ${about.browser}: \`${about.command}\`\n`)
for (const { page, results } of tables) console.log(table(page, results))

async function withPage<T>(
  browser: Browser,
  isolated: boolean,
  use: (page: Page, modelUrl: string) => Promise<T>,
): Promise<T> {
  const server = await serveBench(model, undefined, { isolated })
  try {
    const page = await browser.newPage()
    page.on('pageerror', (error) => console.error(error.message))
    await page.goto(new URL('pools/index.html', server.url).href)
    await page.waitForFunction(() => window.runPools !== undefined)
    const result = await use(page, server.modelUrl)
    await page.close()
    return result
  } finally {
    await server.close()
  }
}

function loads(browser: Browser, isolated: boolean): Promise<string> {
  return withPage(browser, isolated, async (page, modelUrl) => {
    const url = modelUrl
    const rounds = options.rounds
    const times = await page.evaluate(({ url, rounds }) => window.runLoads(url, rounds), { url, rounds })
    const shown = (name: keyof typeof times) => {
      const { median, min, max } = spread(times[name])
      return `${name} ${median.toFixed(0)} ms (${min.toFixed(0)}-${max.toFixed(0)})`
    }
    return `loads ${shown('measured')}, ${shown('known')}`
  })
}

function measure(browser: Browser, isolated: boolean): Promise<Result[]> {
  return withPage(browser, isolated, async (page, modelUrl) => {
    const pool = isolated ? 'shared' : 'shards'
    const { threads, rounds, prompt, tokens } = options
    const cases: Case[] = [
      { name: 'single', pool: 'single', threads: 1 },
      { name: pool, pool, threads },
    ]
    if (options.slow) {
      cases.push({ name: 'single, slow', pool: 'single', threads: 1, slow: true })
      // Workers' shares are measured only if no number of workers is given.
      const some = isolated ? threads : 'auto'
      cases.push({ name: `${pool}, one of them slow`, pool, threads: some, slow: true })
    }
    const job: Job = { modelUrl, cases, rounds, prompt, tokens }
    const results = await page.evaluate((how) => window.runPools(how), job)
    // Measured before each page, because the machine's load may change within a minute.
    const ratios = await page.evaluate((url) => window.runBound(url, 256 * 2 ** 20, 15), limitsModule(page))
    const bound = spreadText(spread(ratios), 2)
    console.log(
      `${isolated ? 'isolated' : 'plain'} page: two workers read 256 MiB ${bound} times as fast as one`,
    )
    return results
  })
}

function limitsModule(page: Page): string {
  const file = new URL('../../../build/limits/halfbyte-simd128-plain.wasm', import.meta.url)
  return new URL(`/@fs${fileURLToPath(file)}`, page.url()).href
}

function table(page: string, results: readonly Result[]): string {
  const first = results[0] as Result
  const rows = results.map(({ name, threads, loadMs, samples }) => {
    const speed = (kind: keyof Sample) => spreadText(spread(samples.map((sample) => sample[kind])), 1)
    const ratio = (kind: keyof Sample) =>
      spreadText(
        spread(samples.map((sample, index) => sample[kind] / (first.samples[index]?.[kind] ?? 1))),
        2,
      )
    const cells = [speed('decode'), ratio('decode'), speed('prefill'), ratio('prefill')]
    return `| ${name} | ${threads} | ${cells.join(' | ')} | ${(loadMs / 1000).toFixed(1)} |`
  })
  return [
    `${page} page; median (min-max)\n`,
    '| pool | workers | decode tok/s | times single | prefill tok/s | times single | load s |',
    '|---|--:|--:|--:|--:|--:|--:|',
    ...rows,
    ...slowLines(results),
    '',
  ].join('\n')
}

/**
 * For a pool with a slow worker: how much longer it takes than an ideal split between two cores in proportion
 * to their speeds.
 */
function slowLines(results: readonly Result[]): string[] {
  const [fast, , slow, mixed] = results
  if (fast === undefined || slow === undefined || mixed === undefined) return []
  const loss = (kind: keyof Sample): string => {
    const each = mixed.samples.map((sample, index) => {
      const ideal = (fast.samples[index]?.[kind] ?? 0) + (slow.samples[index]?.[kind] ?? 0)
      return 100 * (ideal / sample[kind] - 1)
    })
    const { median, min, max } = spread(each)
    return `${median.toFixed(0)} % (${min.toFixed(0)}-${max.toFixed(0)})`
  }
  return [
    '',
    `${mixed.name}: longer than the ideal split by ${loss('decode')} in decode, ${loss('prefill')} in prefill`,
  ]
}
