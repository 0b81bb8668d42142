// npm run soak:serve -- --minutes N or --rounds N [--clients N] [--seed S] [--folder PATH] lets six clients
// use `halfbyte serve` through OpenAI's client. Many requests are aborted in the middle, and some clients
// read nothing. Checks the answers and the memory of the server.
import { Random } from '../../helpers/random.ts'
import { SoakRun } from '../script.ts'
import { trendChecks } from '../trend.ts'
import { Watched } from './watched.ts'

const run = new SoakRun<{ readonly clients: number }>({
  name: 'soak:serve',
  description: 'Concurrent clients of "halfbyte serve"; answers must be correct and memory constant.',
  options: (command) => command.option('--clients <n>', 'how many', Number, 6),
  minutes: 10,
  file: 'serve',
})

/** Node closes an idle connection after 5 seconds. */
const IDLE_MS = 6_000

const random = new Random(run.options.seed)
const watched = await Watched.start()

async function sample(): Promise<void> {
  const { wasmBytes, heapBytes, externalBytes, residentBytes, resources, files } = await watched.told()
  const { minute } = run
  run.samples.push({ minute, wasmBytes, heapBytes, externalBytes, residentBytes, resources, files })
}

// Full rounds need the most memory. Some come first, because a short run might otherwise start them late.
for (let round = 0; round < 4; round++) run.count(await watched.round(random, run.options.clients, true))
run.begin()
await sample()
while (!run.isOver) {
  run.count(await watched.round(random, run.options.clients))
  run.rounds++
  if (!run.isDue) continue
  await sample()
  run.print(`${run.rounds} rounds`)
}
await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
await sample()
run.count([...trendChecks(run.samples), await watched.ended()])
await watched.close()
await run.end({ rounds: run.rounds, counts: watched.counts })
console.log(`${run.counts}, ${run.rounds} rounds`)
console.table(watched.counts)
