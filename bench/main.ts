// npm run bench. In: options. Out: prefill and decode rates of Halfbyte and a peer in one Chromium run, as a table and JSON.
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { chromium } from '@playwright/test'
import { Command } from 'commander'
import { chromiumOptions } from '../e2e/chromium.ts'
import type { Case, EngineName } from './engines.ts'
import { modelFile } from './model-file.ts'
import type { Sample } from './page.ts'
import { QWEN_05B } from './random-model.ts'
import { serveBench } from './server.ts'
import { type Row, summarise, table } from './summary.ts'

const options = new Command('bench')
  .description(
    "Times Halfbyte against @wllama/wllama on a random model of Qwen2.5-0.5B's shape, in Chromium.",
  )
  .option('--rounds <n>', 'rounds; each loads every engine once', Number, 5)
  .option('--peer-rounds <n>', 'rounds in which the slow peer takes part', Number, 3)
  .option('--threads <list>', 'thread counts', (text) => text.split(',').map(Number), [1, 2])
  .option('--prompts <list>', 'prompt lengths, tokens', (text) => text.split(',').map(Number), [64, 512])
  .option('--decode <n>', 'tokens decoded by Halfbyte', Number, 64)
  .option('--peer-decode <n>', 'tokens decoded by the peer', Number, 32)
  .option('--no-peer', 'Halfbyte alone')
  .option('--json <file>', 'where the samples go', 'build/bench/results.json')
  .parse()
  .opts<{
    rounds: number
    peerRounds: number
    threads: number[]
    prompts: number[]
    decode: number
    peerDecode: number
    peer: boolean
    json: string
  }>()

const model = await modelFile(QWEN_05B)
const server = await serveBench(model)
const browser = await chromium.launch(chromiumOptions())
const rows: Row[] = []
try {
  for (let round = 0; round < options.rounds; round++) {
    for (const threads of options.threads) {
      const engines: EngineName[] =
        options.peer && round < options.peerRounds ? ['halfbyte', 'wllama'] : ['halfbyte']
      // Whoever went first last time goes last this time.
      if (round % 2 === 1) engines.reverse()
      for (const engine of engines) rows.push(...(await measureOnce(engine, threads, round)))
    }
  }
} finally {
  await browser.close()
  await server.close()
}
const report = {
  date: new Date().toISOString(),
  machine: `${cpus().length} x ${cpus()[0]?.model}`,
  browser: `Chromium ${browser.version()}`,
  model: QWEN_05B.name,
  summary: summarise(rows),
  samples: rows,
}
await writeFile(options.json, `${JSON.stringify(report, undefined, 2)}\n`)
console.log(`\n${report.machine}, ${report.browser}, ${report.model}\n\n${table(report.summary)}`)

async function measureOnce(engine: EngineName, threads: number, round: number): Promise<Row[]> {
  const decode = engine === 'halfbyte' ? options.decode : options.peerDecode
  const cases: Case[] = options.prompts.map((prompt) => ({ prompt, decode }))
  const page = await browser.newPage()
  page.on('pageerror', (error) => console.error(error.message))
  try {
    await page.goto(server.url)
    await page.waitForFunction(() => window.measure !== undefined)
    const sample: Sample = await page.evaluate(
      ([name, url, count, list]) => window.measure(name, url, count, list),
      [engine, server.modelUrl, threads, cases] as const,
    )
    return sample.figures.map((figures, index) => {
      const prompt = cases[index]?.prompt ?? 0
      const { prefillTokensPerSecond: prefill, decodeTokensPerSecond: decoded } = figures
      console.log(
        `round ${round} ${engine} ${threads}T prompt ${prompt}: prefill ${prefill.toFixed(1)}, decode ${decoded.toFixed(1)} tok/s`,
      )
      return {
        engine,
        threads,
        prompt,
        prefill,
        decode: decoded,
        loadMs: sample.loadMs,
        memoryBytes: sample.memoryBytes,
      }
    })
  } finally {
    await page.close()
  }
}
