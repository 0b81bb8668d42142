// npm run bench:sampler prints the time to sample one token of a large vocabulary in Node and in Chromium, as
// a table.
import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { chromium } from '@playwright/test'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import type { Build } from '../../../src/core/runtime/features.ts'
import { needs } from '../needs.ts'
import { serveBench } from '../server.ts'
import { type Figure, measureSampler, VOCAB } from './measure.ts'

async function inNode(build: Build): Promise<Figure[]> {
  const file = new URL(`../../../dist/wasm/halfbyte-${build}-plain.wasm`, import.meta.url)
  return measureSampler(await WebAssembly.compile(await readFile(file)))
}

async function inChromium(builds: readonly Build[]): Promise<{ version: string; figures: Figure[][] }> {
  const server = await serveBench()
  const browser = await chromium.launch(chromiumOptions())
  try {
    const page = await browser.newPage()
    page.on('pageerror', (error) => console.error(error.message))
    await page.goto(new URL('sampler/index.html', server.url).href)
    await page.waitForFunction(() => window.measureSampler !== undefined)
    const figures: Figure[][] = []
    for (const build of builds) figures.push(await page.evaluate((one) => window.measureSampler(one), build))
    return { version: browser.version(), figures }
  } finally {
    await browser.close()
    await server.close()
  }
}

needs({ chromium: true })
const builds = ['relaxed', 'simd128'] as const
const node = await inNode('relaxed')
const { version, figures } = await inChromium(builds)
console.log(
  `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, Chromium ${version}, ${VOCAB} ids: ` +
    'microseconds per token, median (min)\n',
)
console.log('| | Node, relaxed | Chromium, relaxed | Chromium, simd128 |\n|---|--:|--:|--:|')
for (const [row, { name }] of node.entries()) {
  const cells = [node, ...figures].map((column) => {
    const { median, least } = column[row]!
    return `${median.toFixed(0)} (${least.toFixed(0)})`
  })
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}
