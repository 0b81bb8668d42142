// npm run measure-costs times a model's products in sparse formats in Chromium, as the JSON that `halfbyte
// prune --costs` reads.
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { openPage } from './open-page.ts'

const options = new Command('measure-costs')
  .description("Measures how long a model's products take in Chromium, dense and with zeros.")
  .requiredOption('--model <file>', 'a .gguf or .hbm file')
  .requiredOption('--output <file>', 'the .json file to write')
  .option('--weights <format>', 'w8 or w4', 'w4')
  .option('--build <build>', 'auto, relaxed or simd128', 'auto')
  .option('--threads <n>', 'threads that compute', Number, 1)
  .option('--position <n>', 'positions before the token that is timed', Number, 128)
  .option('--samples <n>', 'samples per format and sparsity', Number, 40)
  .parse()
  .opts<{
    model: string
    output: string
    weights: 'w8' | 'w4'
    build: 'auto' | 'relaxed' | 'simd128'
    threads: number
    position: number
    samples: number
  }>()

const { page, urls, browser, close } = await openPage([pathToFileURL(options.model)])
try {
  const { build, threads, position, samples } = options
  const asked = {
    build,
    threads,
    position,
    samples,
    format: `${options.weights}_g32` as const,
    machine: `${cpus()[0]?.model.trim()}, Chromium ${browser.version()}`,
  }
  const table = await page.evaluate(([url, how]) => window.runSparse({ type: 'costs', url, asked: how }), [
    urls[0]!,
    asked,
  ] as const)
  await writeFile(options.output, `${JSON.stringify(table, undefined, 1)}\n`)
  console.log(`${options.output}: ${table.matrices.length} shapes, the rest of a token ${table.restMs} ms`)
} finally {
  await close()
}
