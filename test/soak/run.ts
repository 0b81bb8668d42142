// One soak in its own process: runs random sessions on tiny models for a given time, and checks that
// memory, blocks, workers and files are freed.
import { appendFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Engine } from '../../src/engine/api/engine.ts'
import { Random } from '../helpers/random.ts'
import { reachable, takeCensus } from './census.ts'
import { soakModels } from './models.ts'
import { type Report, resident, share, talk, visit } from './rounds.ts'
import { SoakRun } from './script.ts'
import { provideStorage } from './storage.ts'
import { trendChecks } from './trend.ts'

const run = new SoakRun({
  name: 'soak',
  description: 'Random sessions, loads and unloads; memory, workers and files must be released.',
  minutes: 2,
  file: 'soak',
})
const { options } = run

type Round = Report & { readonly minute: number }

/** The resident models: one for each kind of state, and an export. */
const RESIDENTS = ['llama', 'windowed', 'mamba', 'granitehybrid', 'llama-cache']

const storage = await mkdtemp(join(tmpdir(), 'halfbyte-soak-'))
await provideStorage(storage)
const random = new Random(options.seed)
const models = await soakModels(storage)
const residents = await Promise.all(models.filter(({ name }) => RESIDENTS.includes(name)).map(resident))

run.begin()
/** Writes each round when it ends, because results kept in memory would count as growth. */
const roundsFile = join(options.folder, 'rounds.jsonl')
await mkdir(options.folder, { recursive: true })
await writeFile(roundsFile, '')
const firstPorts = reachable(MessagePort)
let operations = 0

const sample = async (): Promise<void> => {
  const census = await takeCensus()
  const uses = await Promise.all(residents.map(({ engine }) => engine.memory()))
  const wasmBytes = uses.reduce((sum, { totalBytes }) => sum + totalBytes, 0)
  run.samples.push({ minute: run.minute, wasmBytes, ...census })
}

await sample()
while (!run.isOver) {
  const kind = random.between(1, 10)
  const report =
    kind <= 4
      ? await talk(random.pick(residents), random)
      : kind <= 8
        ? await visit(random.pick(models), random)
        : await share(random.pick(models), random)
  operations += report.operations
  run.rounds++
  appendFileSync(roundsFile, `${JSON.stringify({ minute: run.minute, ...report } satisfies Round)}\n`)
  run.count(report.checks)
  if (!run.isDue) continue
  await sample()
  run.print(`${run.rounds} rounds, ${operations} operations`)
}
await sample()
run.count(trendChecks(run.samples))
// The last round's resources may not have been released yet.
const engines = reachable(Engine)
const ports = reachable(MessagePort)
run.count([
  { what: `disposed engines are collected (${engines} are left)`, holds: engines < residents.length + 3 },
  { what: `closed ports are collected (${ports} are left)`, holds: ports < firstPorts + 9 },
])
for (const { engine } of residents) await engine.dispose()
await rm(storage, { recursive: true })

await run.end({ operations, rounds: run.rounds })
console.log(run.counts)
