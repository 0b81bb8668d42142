// npm run bench:embeddings measures sentences per second of Halfbyte and of transformers.js in one page of
// Chromium, as a table and JSON. It needs the network, for the exact version of transformers.js, and a
// preceding npm run setup -- minilm.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { cpus } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type CDPSession, chromium, type Page } from '@playwright/test'
import { Command } from 'commander'
import type { Connect } from 'vite'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import { ISOLATION, sendFile } from '../../../test/helpers/http-server.ts'
import { PEERS } from '../compared/peers.ts'
import { unpack } from '../compared/unpack.ts'
import { needs } from '../needs.ts'
import { replaceBetweenMarkers } from '../perf/docs.ts'
import { serveBench } from '../server.ts'
import { spread, spreadText } from '../spread.ts'
import { textOf, writeModel } from './files.ts'
import type { Kind, Loaded } from './page.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const WORK = path('../../../build/bench/embeddings/')
const QUANTIZED = path('../../../build/models/minilm/model_quantized.onnx')
const DOCS = path('../../measurements/embeddings.md')

const options = new Command('bench:embeddings')
  .description(
    'Sentences per second of an encoder of MiniLM\u2019s shape: Halfbyte and transformers.js, in Chromium.',
  )
  .option('--tokens <list>', 'tokens per sentence', numbers, [16, 64, 256])
  .option('--batches <list>', 'sentences per call', numbers, [1, 8, 64])
  .option('--threads <list>', 'threads for both', numbers, [1, 2])
  .option('--rounds <n>', 'maximum rounds per row, with all interleaved', Number, 5)
  .option('--seconds <n>', 'seconds after which a row starts no more rounds', Number, 60)
  .option('--json <file>', 'file for the figures', 'build/bench/embeddings.json')
  .option('--docs', 'write the table into lab/measurements/embeddings.md')
  .parse()
  .opts<{
    tokens: number[]
    batches: number[]
    threads: number[]
    rounds: number
    seconds: number
    json: string
    docs?: true
  }>()

/** Halfbyte and transformers.js at the closest precision. */
const PAIRS: readonly (readonly [Kind, Kind])[] = [
  ['halfbyte f32', 'transformers.js fp32'],
  ['halfbyte w8', 'transformers.js q8'],
]
const KINDS = PAIRS.flat()
/** Minimum tokens per sample; shorter calls are repeated. */
const MIN_TOKENS = 512
const WARM_CALLS = 12

interface Row {
  readonly threads: number
  readonly tokens: number
  readonly batch: number
  /** Milliseconds per call, by round: wall-clock and processor time. */
  readonly clock: Readonly<Record<Kind, number[]>>
  readonly processor: Readonly<Record<Kind, number[]>>
}

function numbers(text: string): number[] {
  return text.split(',').map(Number)
}

needs({ chromium: true, models: ['minilm'] })
const peer = PEERS.find(({ name }) => name === 'transformers.js')!
for (const spec of peer.packages) if (!existsSync(join(WORK, 'modules', spec))) unpackOnce(spec)
writeModel(join(WORK, 'models/minilm'), QUANTIZED)
const browser = await chromium.launch(chromiumOptions())
const rows: Row[] = []
try {
  for (const threads of options.threads) rows.push(...(await measure(browser, threads)))
} finally {
  await browser.close()
}
report(rows)

/** A file named after the package and its version marks it as installed. */
function unpackOnce(spec: string): void {
  mkdirSync(join(WORK, 'modules'), { recursive: true })
  unpack(spec, join(WORK, 'modules'))
  mkdirSync(dirname(join(WORK, 'modules', spec)), { recursive: true })
  writeFileSync(join(WORK, 'modules', spec), '')
}

/** Serves the work folder at /work/. */
function serveWork(
  request: Connect.IncomingMessage,
  response: ServerResponse,
  next: Connect.NextFunction,
): void {
  const [, name] = /^\/work\/([^?]+)/.exec(request.url ?? '') ?? []
  const file = name === undefined ? undefined : normalize(join(WORK, name))
  if (file === undefined || !file.startsWith(WORK)) {
    next()
    return
  }
  response.setHeaders(new Map(Object.entries(ISOLATION)))
  if (existsSync(file)) sendFile(request, response, file)
  else response.writeHead(404).end()
}

async function measure(browser: Browser, threads: number): Promise<Row[]> {
  const server = await serveBench(undefined, serveWork)
  try {
    const page = await browser.newPage()
    page.on('pageerror', (error) => console.error(error.message))
    await page.goto(new URL('embeddings/index.html', server.url).href)
    await page.waitForFunction(() => window.embeddings !== undefined)
    const at = (name: string) => new URL(`work/${name}`, server.url).href
    const loading = {
      threads,
      models: at('models/'),
      peer: at('modules/@huggingface/transformers/dist/transformers.min.js'),
      runtime: at('modules/onnxruntime-web/dist/'),
    }
    const about = await page.evaluate((how) => window.embeddings!.loadAll(how), loading)
    await check(page, about, threads)
    // During the first calls, functions are compiled, and recompiled with optimisation on other threads.
    for (const kind of KINDS) await timeOf(page, kind, [textOf(64, 3)], WARM_CALLS)
    const found: Row[] = []
    for (const tokens of options.tokens)
      for (const batch of options.batches) found.push(await rowOf(page, { threads, tokens, batch }))
    await page.close()
    return found
  } finally {
    await server.close()
  }
}

/** Throws if the two do not do the same work. */
async function check(page: Page, about: Loaded, threads: number): Promise<void> {
  if (about.threads !== threads) throw new Error(`Halfbyte has ${about.threads} threads, not ${threads}`)
  for (const tokens of options.tokens) {
    for (const kind of KINDS) {
      const text = textOf(tokens, 5)
      const found = await page.evaluate(([kind, text]) => window.embeddings!.tokensOf(kind, text), [
        kind,
        text,
      ] as const)
      if (found !== tokens) throw new Error(`${kind} reads ${found} tokens, not ${tokens}`)
    }
  }
  const texts = [textOf(16, 1), textOf(16, 2)]
  const difference = await page.evaluate(
    (texts) => window.embeddings!.differenceOf('halfbyte f32', 'transformers.js fp32', texts),
    texts,
  )
  console.log(
    `${threads} threads, ${about.build}: vectors in f32 differ by at most ${difference.toExponential(1)}`,
  )
  if (!(difference < 1e-4)) throw new Error('the two models are not the same')
}

async function rowOf(page: Page, size: Omit<Row, 'clock' | 'processor'>): Promise<Row> {
  const session = await browser.newBrowserCDPSession()
  const texts = Array.from({ length: size.batch }, (_, index) => textOf(size.tokens, index))
  const calls = Math.ceil(MIN_TOKENS / (size.tokens * size.batch))
  const empty = () => Object.fromEntries(KINDS.map((kind) => [kind, [] as number[]])) as Row['clock']
  const row: Row = { ...size, clock: empty(), processor: empty() }
  for (const kind of KINDS) await timeOf(page, kind, texts.slice(0, 8), 1)
  const until = performance.now() + 1000 * options.seconds
  for (let round = 0; round < options.rounds && (round === 0 || performance.now() < until); round++) {
    for (const kind of KINDS) {
      const before = await processorMs(session)
      row.clock[kind].push(await timeOf(page, kind, texts, calls))
      row.processor[kind].push(((await processorMs(session)) - before) / calls)
    }
  }
  await session.detach()
  console.log(cells(row))
  return row
}

/** Wall-clock milliseconds per call. */
function timeOf(page: Page, kind: Kind, texts: readonly string[], calls: number): Promise<number> {
  return page.evaluate((order) => window.embeddings!.timeOf(...order), [kind, texts, calls] as const)
}

/** Processor time of all pages so far. */
async function processorMs(session: CDPSession): Promise<number> {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  return processInfo.reduce((sum, { type, cpuTime }) => sum + (type === 'renderer' ? 1000 * cpuTime : 0), 0)
}

/** Sentences per second of both, and the median of the ratios within rounds. */
function cells({ threads, tokens, batch, clock, processor }: Row): string {
  const times = threads === 1 ? processor : clock
  const rates = PAIRS.flatMap(([ours, theirs]) => {
    const rate = (kind: Kind) => spreadText(spread(times[kind].map((ms) => (1000 * batch) / ms)))
    const ratio = spread(times[ours].map((ms, round) => times[theirs][round]! / ms))
    return [rate(ours), rate(theirs), spreadText(ratio, 2)]
  })
  return `| ${[threads, tokens, batch, times[KINDS[0]!].length, ...rates].join(' | ')} |`
}

function report(rows: readonly Row[]): void {
  const about = {
    date: new Date().toISOString(),
    machine: `${cpus().length} x ${cpus()[0]?.model}`,
    browser: `Chromium ${browser.version()}`,
    peer: peer.packages,
  }
  mkdirSync(dirname(options.json), { recursive: true })
  writeFileSync(options.json, `${JSON.stringify({ ...about, rows }, undefined, 1)}\n`)
  const table = [
    '| threads | tokens | batch | rounds | f32 | transformers.js fp32 | times as fast | w8 | transformers.js q8 | times as fast |',
    '|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map(cells),
  ].join('\n')
  const text = `${about.machine}, ${about.browser}, ${peer.packages[0]}, ${about.date.slice(0, 10)}.\n\n${table}`
  console.log(`\n${text}`)
  if (options.docs)
    writeFileSync(
      DOCS,
      replaceBetweenMarkers(readFileSync(DOCS, 'utf8'), text, 'npm run bench:embeddings -- --docs'),
    )
}
