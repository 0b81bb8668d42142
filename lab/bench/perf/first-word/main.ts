// npm run perf:first-word measures the time from navigation to the first word of an answer on the built chat
// page, for first visits over two links and second visits without a network, as a table.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { preview } from 'vite'
import { needs } from '../../needs.ts'
import { spread, spreadText } from '../../spread.ts'
import { type Link, type LinkSpeed, openLink } from './link.ts'
import { type Visit, visit } from './visit.ts'

const CONFIG = fileURLToPath(new URL('../../../../demo/vite.config.ts', import.meta.url))
const OPENING = 'default'
const TIMES = ['shownMs', 'readyMs', 'loadedMs', 'firstWordMs'] as const
const FREE: LinkSpeed = { bytesPerSecond: Number.POSITIVE_INFINITY, roundTripMs: 0 }
interface Speed {
  /** The value of `--links`. */
  readonly id: string
  readonly name: string
  readonly speed: LinkSpeed | undefined
}
const LINKS: readonly Speed[] = [
  {
    id: 'fast',
    name: 'first visit, 20 Mbit/s, 50 ms',
    speed: { bytesPerSecond: 2_500_000, roundTripMs: 50 },
  },
  { id: 'slow', name: 'first visit, 200 kB/s, 50 ms', speed: { bytesPerSecond: 200_000, roundTripMs: 50 } },
  { id: 'off', name: 'second visit, network off', speed: undefined },
]

const options = new Command('perf:first-word')
  .description('Time from navigation to the first word of an answer, in Chromium. Run "npm run build" first.')
  .option(
    '--models <list>',
    `models that come with the page, by name; files next to it, such as packs/NAME.hbm; or "${OPENING}"`,
    `${OPENING},Halfbyte Mamba`,
  )
  .option('--links <list>', 'fast, slow, off', 'fast,slow,off')
  .option('--rates <list>', "slowdown factors of the page's thread", '1,4')
  .option('--question <text>', 'the question, sent as soon as possible', 'Hello! How are you?')
  .option('--rounds <n>', 'rounds per visit', Number, 3)
  .option('--json <file>', 'file for the figures', 'build/perf/first-word.json')
  .parse()
  .opts<{ models: string; links: string; rates: string; question: string; rounds: number; json: string }>()
needs({ chromium: true })

interface Case {
  readonly link: Speed
  readonly rate: number
  readonly asked: string
  readonly visits: (Visit & { readonly bytes: number })[]
}
/** A browser's profile after a first visit, and the address that it knows. */
interface Returning {
  readonly profile: string
  readonly address: string
}

const models = options.models.split(',').map((name) => name.trim())
const rates = options.rates.split(',').map(Number)
const ids = options.links.split(',').map((id) => id.trim())
const links = LINKS.filter(({ id }) => ids.includes(id))
if (links.length < ids.length) throw new Error(`--links ${options.links}: give some of fast, slow, off`)
const cases: Case[] = links.flatMap((link) =>
  rates.flatMap((rate) => models.map((asked): Case => ({ link, rate, asked, visits: [] }))),
)
const profiles = await mkdtemp(join(tmpdir(), 'halfbyte-first-word-'))
const server = await preview({
  configFile: CONFIG,
  logLevel: 'warn',
  preview: { host: '127.0.0.1', port: 0 },
})
try {
  const bound = server.httpServer.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('the preview server has no port')
  const returning = new Map<string, Returning>()
  if (ids.includes('off')) for (const asked of models) returning.set(asked, await prepare(asked, bound.port))
  for (let round = 1; round <= options.rounds; round++)
    for (const each of cases) await measure(each, round, bound.port, returning.get(each.asked))
} finally {
  await server.close()
  await rm(profiles, { recursive: true })
}
const machine = `${cpus().length} x ${cpus()[0]?.model}`
await mkdir(dirname(options.json), { recursive: true })
await writeFile(options.json, `${JSON.stringify({ machine, cases }, null, 2)}\n`)
console.log(table())

function named(asked: string): string | undefined {
  return asked === OPENING ? undefined : asked
}

/** Makes the first of two visits, and then turns the network off. */
async function prepare(asked: string, port: number): Promise<Returning> {
  const link = await openLink(port, FREE)
  const profile = await mkdtemp(join(profiles, 'returning-'))
  const { address } = link
  const { question } = options
  await visit({ address, profile, cpuRate: 1, model: named(asked), question, settle: true })
  link.cut()
  return { profile, address }
}

async function measure(
  { link: { name, speed }, rate, asked, visits }: Case,
  round: number,
  port: number,
  returning: Returning | undefined,
): Promise<void> {
  const profile = await mkdtemp(join(profiles, 'visit-'))
  let link: Link | undefined
  if (speed !== undefined) link = await openLink(port, speed)
  else if (returning !== undefined) await cp(returning.profile, profile, { recursive: true })
  try {
    const address = link?.address ?? returning?.address ?? ''
    const { question } = options
    const found = await visit({ address, profile, cpuRate: rate, model: named(asked), question })
    visits.push({ ...found, bytes: link?.bytes ?? 0 })
    const seconds = (found.firstWordMs / 1000).toFixed(2)
    console.log(`round ${round}, ${name}, ${rate}x, ${found.model}: first word after ${seconds} s`)
  } finally {
    link?.cut()
    await rm(profile, { recursive: true })
  }
}

function table(): string {
  const seconds = (visits: Case['visits'], key: (typeof TIMES)[number]) =>
    spreadText(spread(visits.map((each) => each[key] / 1000)), 2)
  return [
    `${machine}, ${options.rounds} rounds, median (min-max) in seconds`,
    '',
    '| visit | CPU | model | shown | can be asked | loaded | first word | MB |',
    '| --- | --: | --- | --: | --: | --: | --: | --: |',
    ...cases.map(({ link, rate, visits }) => {
      const megabytes = spread(visits.map(({ bytes }) => bytes / 1e6)).median.toFixed(2)
      const times = TIMES.map((key) => seconds(visits, key))
      return `| ${link.name} | ${rate}x | ${visits[0]?.model} | ${times.join(' | ')} | ${megabytes} |`
    }),
  ].join('\n')
}
