// npm run perf measures Halfbyte and its peers interleaved, as JSON, as tables and optionally in
// lab/measurements/.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { pathToFileURL } from 'node:url'
import { needs } from '../needs.ts'
import { parametersOf } from '../shapes.ts'
import { replaceBetweenMarkers } from './docs.ts'
import { ownVersion, PAGE, writeFigures } from './figures.ts'
import { openSite } from './host/site.ts'
import { measureGroup } from './measure.ts'
import { type Options, readOptions } from './options.ts'
import { type GroupResults, loadResults } from './results.ts'
import { shareOf } from './schedule.ts'
import { prepareFiles } from './start.ts'
import { summarise } from './summary.ts'
import { markdown } from './tables.ts'

const args = process.argv.slice(2)
const options = readOptions(args)
const folder = pathToFileURL(`${options.folder}/`)
await mkdir(folder, { recursive: true })
if (!options.report) {
  needs({ chromium: true })
  await measureAll(options)
}
await report(options)

async function measureAll({ shapes, threads, kinds, limits, turn, minutes, resume }: Options): Promise<void> {
  const until = performance.now() + minutes * 60_000
  const machine = `${cpus().length} x ${cpus()[0]?.model}`
  for (const shape of shapes) await prepareFiles(shape, kinds)
  const site = await openSite()
  try {
    const groups = shapes.flatMap((shape) => threads.map((count) => ({ shape, threads: count })))
    // Time is divided by the number of weights, but small models need a minimum.
    const weights = groups.map((group) => Math.sqrt(parametersOf(group.shape) / group.threads))
    for (const [index, group] of groups.entries()) {
      const seconds = shareOf((until - performance.now()) / 1000, weights.slice(index))
      console.log(`${group.shape.name} ${group.threads}T: ${Math.round(seconds)} s`)
      await measureGroup({ ...group, kinds, limits, turn, site, machine, folder, resume, seconds })
    }
  } finally {
    await site.close()
  }
}

async function report({ shapes, threads, docs }: Options): Promise<void> {
  const groups: GroupResults[] = []
  for (const shape of shapes) {
    for (const count of threads) {
      const results = await loadResults(folder, shape.name, count)
      if (results !== undefined) groups.push(results)
    }
  }
  const shown = args.filter((each) => !['--docs', '--report', '--resume'].includes(each))
  const command = ['npm run perf', ...(shown.length > 0 ? ['--', ...shown] : [])].join(' ')
  const summary = summarise(groups, command, await ownVersion())
  const text = markdown(summary)
  await writeFile(new URL('report.json', folder), `${JSON.stringify(summary, undefined, 1)}\n`)
  console.log(`\n${text}`)
  if (!docs) return
  await writeFigures({ shapes: summary })
  await writeFile(PAGE, replaceBetweenMarkers(await readFile(PAGE, 'utf8'), text))
}
