// One soak in a process of its own: runs random sessions on tiny models for a given time, and checks that
// memory, blocks, workers and files are freed.
import { appendFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { Engine } from '../../src/api/engine.ts'
import { Random } from '../helpers/random.ts'
import { type Census, reachable, takeCensus } from './census.ts'
import { soakModels } from './models.ts'
import { type Check, type Report, resident, share, talk, visit } from './rounds.ts'
import { provideStorage } from './storage.ts'
import { memoryPlot, type Sample, trendChecks } from './trend.ts'

const options = new Command('soak')
  .description('Random sessions, loads and unloads; memory, workers and files must come back.')
  .option('--minutes <n>', 'how long', Number, 2)
  .option('--seed <n>', 'of everything random', Number, 1)
  .option('--folder <path>', 'where soak.json and soak.svg go', 'build/soak')
  .parse()
  .opts<{ minutes: number; seed: number; folder: string }>()

type Round = Report & { readonly minute: number }

const SAMPLE_SECONDS = 4
/** The resident models: one for each kind of state, and an export. */
const RESIDENTS = ['llama', 'windowed', 'mamba', 'granitehybrid', 'llama-cache']

const storage = await mkdtemp(join(tmpdir(), 'halfbyte-soak-'))
await provideStorage(storage)
const random = new Random(options.seed)
const models = await soakModels(storage)
const residents = await Promise.all(models.filter(({ name }) => RESIDENTS.includes(name)).map(resident))

const start = performance.now()
const minutes = () => (performance.now() - start) / 60_000
const samples: Sample[] = []
/** Rounds are written as they end, because in memory they would count as growth. */
const roundsFile = join(options.folder, 'rounds.jsonl')
await mkdir(options.folder, { recursive: true })
await writeFile(roundsFile, '')
let rounds = 0
const failed: Check[] = []
const firstPorts = reachable(MessagePort)
let passed = 0
let operations = 0
let printed = 0

const count = (checks: readonly Check[]): void => {
  for (const check of checks) {
    if (check.holds) passed++
    else {
      failed.push(check)
      console.log(`FAILED ${check.what}`)
    }
  }
}

const sample = async (): Promise<Census> => {
  const census = await takeCensus()
  const uses = await Promise.all(residents.map(({ engine }) => engine.memory()))
  const wasmBytes = uses.reduce((sum, { totalBytes }) => sum + totalBytes, 0)
  samples.push({ minute: minutes(), wasmBytes, ...census })
  return census
}

const MB = (bytes: number) => (bytes / 1e6).toFixed(1)
await sample()
while (minutes() < options.minutes) {
  const kind = random.between(1, 10)
  const report =
    kind <= 4
      ? await talk(random.pick(residents), random)
      : kind <= 8
        ? await visit(random.pick(models), random)
        : await share(random.pick(models), random)
  operations += report.operations
  rounds++
  appendFileSync(roundsFile, `${JSON.stringify({ minute: minutes(), ...report } satisfies Round)}\n`)
  count(report.checks)
  if ((minutes() - samples.at(-1)!.minute) * 60 < SAMPLE_SECONDS) continue
  const { heapBytes, residentBytes, files } = await sample()
  if (minutes() < printed) continue
  printed = Math.floor(minutes()) + 1
  console.log(
    `minute ${minutes().toFixed(1)}: ${rounds} rounds, ${operations} operations, heap ${MB(heapBytes)} MB, ` +
      `resident ${MB(residentBytes)} MB, ${files} files, ${passed} passed, ${failed.length} failed`,
  )
}
await sample()
count(trendChecks(samples))
// The last round's resources may not have been released yet.
const engines = reachable(Engine)
const ports = reachable(MessagePort)
count([
  { what: `engines that ended are collected (${engines} are left)`, holds: engines < residents.length + 3 },
  { what: `ports that were closed are collected (${ports} are left)`, holds: ports < firstPorts + 9 },
])
for (const { engine } of residents) await engine.dispose()
await rm(storage, { recursive: true })

const about = {
  date: new Date().toISOString(),
  machine: `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`,
  ...options,
}
const log = { about, passed, failed: failed.length, failures: failed, operations, rounds, samples }
await writeFile(join(options.folder, 'soak.json'), `${JSON.stringify(log, undefined, 1)}\n`)
await writeFile(join(options.folder, 'soak.svg'), memoryPlot(samples))
console.log(`${passed} passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1
