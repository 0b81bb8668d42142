// node lab/bench/sparse/packs.ts DENSE SPARSE... compares packs of one model with the first in Chromium:
// size, memory, perplexity, speed and processor time, as a table and JSON.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { type Compared, compareTable } from '../../../src/tools/evaluate/report.ts'
import { renderers } from '../loading/processes.ts'
import { BENCH_FOLDER } from '../model-file.ts'
import { openPage, processorMs } from './open-page.ts'

const command = new Command('packs')
  .description('Compares packs of one model in Chromium. All are loaded together and timed in turn.')
  .argument('<packs...>', 'files; the others are compared with the first')
  .requiredOption('--text <file>', 'UTF-8 text to score and to time')
  .option('--threads <n>', 'threads', Number, 1)
  .option('--rounds <n>', 'rounds; medians are shown', Number, 5)
  .option('--context <n>', 'tokens to run', Number, 256)
  .option('--tokens <n>', 'of these, tokens to decode one by one', Number, 64)
  .option('--chunks <n>', 'windows of 256 tokens to score', Number, 24)
  .option('--json <file>', 'file for the figures', 'build/bench/packs.json')
  .parse()
const options = command.opts<{
  text: string
  threads: number
  rounds: number
  context: number
  tokens: number
  chunks: number
  json: string
}>()

const text = await readFile(options.text, 'utf8')
const { page, urls, browser, close } = await openPage(command.args.map((file) => pathToFileURL(file)))
const rows: (Compared & { prefill: number[]; decode: number[]; cpu: number[] })[] = []
try {
  const { threads, chunks, context, tokens } = options
  for (const [index, url] of urls.entries()) {
    const job = { type: 'load', url, threads, text, chunks } as const
    const scored = await page.evaluate((asked) => window.runSparse(asked), job)
    const name = command.args[index]?.split('/').at(-1) ?? ''
    const { size: fileBytes } = await stat(command.args[index] ?? '')
    rows.push({ name, fileBytes, ...scored, prefill: [], decode: [], cpu: [] })
  }
  // The renderer process that computes is the busiest.
  const pids = await renderers(process.pid)
  for (let round = 0; round < options.rounds; round++) {
    for (const [pack, row] of rows.entries()) {
      const read = { type: 'read', pack, context, tokens } as const
      row.prefill.push(await page.evaluate((asked) => window.runSparse(asked), read))
      const before = await Promise.all(pids.map(processorMs))
      const decode = { type: 'decode', pack } as const
      row.decode.push(await page.evaluate((asked) => window.runSparse(asked), decode))
      const after = await Promise.all(pids.map(processorMs))
      row.cpu.push(Math.max(...after.map((ms, at) => ms - before[at]!)) / tokens)
    }
  }
  const about = {
    date: new Date().toISOString(),
    machine: `${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`,
    browser: `Chromium ${browser.version()}`,
  }
  await mkdir(BENCH_FOLDER, { recursive: true })
  await writeFile(options.json, `${JSON.stringify({ ...about, options, rows }, undefined, 1)}\n`)
  console.log(`${about.machine}, ${about.browser}\n\n${compareTable(rows)}`)
} finally {
  await close()
}
