// npm run soak:serve -- --minutes N [--seed S] [--folder PATH] sends `halfbyte serve` twenty requests at a
// time through OpenAI's client, many of which are aborted in the middle. It checks the answers and the memory
// of the server.
import { Random } from '../../helpers/random.ts'
import { SoakRun } from '../script.ts'
import { trendChecks } from '../trend.ts'
import { Watched } from './watched.ts'

const run = new SoakRun({
  name: 'soak:serve',
  description: 'Twenty requests at a time to "halfbyte serve"; answers must be correct and memory constant.',
  minutes: 10,
  file: 'serve',
})

/** Node closes an idle connection after 5 seconds. */
const IDLE_MS = 6_000

const random = new Random(run.options.seed)
const watched = await Watched.start()
let rounds = 0

async function sample(): Promise<void> {
  const { wasmBytes, heapBytes, externalBytes, residentBytes, resources, files } = await watched.told()
  const { minute } = run
  run.samples.push({ minute, wasmBytes, heapBytes, externalBytes, residentBytes, resources, files })
}

run.begin()
await sample()
while (!run.isOver) {
  run.count(await watched.round(random))
  rounds++
  if (!run.isDue) continue
  await sample()
  run.print(`${rounds} rounds`)
}
await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
await sample()
run.count([...trendChecks(run.samples), await watched.ended()])
await watched.close()
await run.end({ rounds, counts: watched.counts })
console.log(`${run.counts}, ${rounds} rounds`)
console.table(watched.counts)
