// node lab/bench/sparse/memory.ts DENSE SPARSE... measures for each pack, in its own Chromium, the peak
// memory of the page's process and the linear memory, relative to the first pack.
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { median } from '../../../src/tools/evaluate/report.ts'
import { held, renderers } from '../loading/processes.ts'
import { openPage } from './open-page.ts'

const command = new Command('memory')
  .description('Loads each pack in a new browser, processes a prompt, decodes, and prints peak memory.')
  .argument('<packs...>', 'files; the others are compared with the first')
  .requiredOption('--text <file>', 'UTF-8 text to run')
  .option('--threads <n>', 'threads', Number, 1)
  .option('--rounds <n>', 'rounds; medians are shown', Number, 3)
  .option('--context <n>', 'tokens to run', Number, 256)
  .option('--tokens <n>', 'of these, tokens to decode one by one', Number, 64)
  .parse()
const options = command.opts<{
  text: string
  threads: number
  rounds: number
  context: number
  tokens: number
}>()
const text = await readFile(options.text, 'utf8')

/** Peak of a page that runs this pack, or of a page without a model. */
async function once(pack: string | undefined): Promise<{ peak: number; linear: number }> {
  const { page, urls, close } = await openPage(pack === undefined ? [] : [pathToFileURL(pack)])
  try {
    let linear = 0
    if (pack !== undefined) {
      const { threads, context, tokens } = options
      const load = { type: 'load', url: urls[0]!, threads, text, chunks: 1 } as const
      linear = (await page.evaluate((asked) => window.runSparse(asked), load)).memoryBytes
      const read = { type: 'read', pack: 0, context, tokens } as const
      await page.evaluate((asked) => window.runSparse(asked), read)
      await page.evaluate(() => window.runSparse({ type: 'decode', pack: 0 }))
    }
    // The renderer process that computes is the largest.
    const pages = await Promise.all((await renderers(process.pid)).map(held))
    return { peak: Math.max(...pages.map(({ peak }) => peak)), linear }
  } finally {
    await close()
  }
}

const empty: number[] = []
const rows = command.args.map((pack) => ({ pack, peaks: [] as number[], linear: 0 }))
for (let round = 0; round < options.rounds; round++) {
  empty.push((await once(undefined)).peak)
  for (const row of rows) {
    const { peak, linear } = await once(row.pack)
    row.peaks.push(peak)
    row.linear = linear
  }
}
const [base] = rows
const mega = (bytes: number) => (bytes / 1e6).toFixed(1)
const ratio = (own: number, first: number) => (own / first).toFixed(2)
console.log(
  `A page without a model: ${mega(median(empty))} MB\n\n` +
    '| | peak of the process, MB | of dense | linear memory, MB | of dense |\n|---|--:|--:|--:|--:|',
)
for (const { pack, peaks, linear } of rows) {
  const peak = median(peaks)
  const beside = [ratio(peak, median(base!.peaks)), ratio(linear, base!.linear)]
  console.log(`| ${pack.split('/').at(-1)} | ${mega(peak)} | ${beside[0]} | ${mega(linear)} | ${beside[1]} |`)
}
