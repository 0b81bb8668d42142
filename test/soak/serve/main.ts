// npm run soak:serve -- --minutes N [--seed S] [--folder PATH] sends `halfbyte serve` twenty requests at a
// time through OpenAI's client, many of which leave in the middle. It checks the answers and the memory of
// the server.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { Random } from '../../helpers/random.ts'
import type { Check } from '../rounds.ts'
import { memoryPlot, type Sample, trendChecks } from '../trend.ts'
import { Watched } from './watched.ts'

const options = new Command('soak:serve')
  .description('Twenty requests at a time to "halfbyte serve"; answers must be right and memory steady.')
  .option('--minutes <n>', 'how long', Number, 10)
  .option('--seed <n>', 'of everything random', Number, 1)
  .option('--folder <path>', 'where serve.json and serve.svg go', 'build/soak')
  .parse()
  .opts<{ minutes: number; seed: number; folder: string }>()

/** Node closes a connection that nobody uses after 5 seconds. */
const IDLE_MS = 6_000
const SAMPLE_SECONDS = 4

const random = new Random(options.seed)
const watched = await Watched.start()
const start = performance.now()
const minutes = () => (performance.now() - start) / 60_000
const samples: Sample[] = []
const failed: Check[] = []
let passed = 0
let rounds = 0
let printed = 0

function count(checks: readonly Check[]): void {
  for (const check of checks) {
    if (check.holds) passed++
    else {
      failed.push(check)
      console.log(`FAILED ${check.what}`)
    }
  }
}

async function sample(): Promise<Sample> {
  const { wasmBytes, heapBytes, externalBytes, residentBytes, resources, files } = await watched.told()
  const taken = { minute: minutes(), wasmBytes, heapBytes, externalBytes, residentBytes, resources, files }
  samples.push(taken)
  return taken
}

const MB = (bytes: number) => (bytes / 1e6).toFixed(1)
await sample()
while (minutes() < options.minutes) {
  count(await watched.round(random))
  rounds++
  if ((minutes() - samples.at(-1)!.minute) * 60 < SAMPLE_SECONDS) continue
  const { heapBytes, residentBytes, files } = await sample()
  if (minutes() < printed) continue
  printed = Math.floor(minutes()) + 1
  console.log(
    `minute ${minutes().toFixed(1)}: ${rounds} rounds, heap ${MB(heapBytes)} MB, resident ${MB(residentBytes)} MB, ` +
      `${files} files, ${passed} passed, ${failed.length} failed`,
  )
}
await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
await sample()
count([...trendChecks(samples), await watched.ended()])
await watched.close()

const about = {
  date: new Date().toISOString(),
  machine: `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`,
  ...options,
}
const log = {
  about,
  passed,
  failed: failed.length,
  failures: failed,
  rounds,
  counts: watched.counts,
  samples,
}
await mkdir(options.folder, { recursive: true })
await writeFile(join(options.folder, 'serve.json'), `${JSON.stringify(log, undefined, 1)}\n`)
await writeFile(join(options.folder, 'serve.svg'), memoryPlot(samples))
console.log(`${passed} passed, ${failed.length} failed, ${rounds} rounds`)
console.table(watched.counts)
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1
