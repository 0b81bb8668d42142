// npm run perf:android measures phones on an adb server, cold and sustained, as JSON, with a table of all
// phones measured so far. If there is no phone, it says so and exits without an error.
import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { _android as android } from '@playwright/test'
import { Command, InvalidArgumentError } from 'commander'
import { openSite } from '../host/site.ts'
import { type ListedPhone, listPhones, watchPhone } from './adb.ts'
import { measurePhone } from './measure.ts'
import { storedResults, storeResult } from './stored.ts'
import { phoneTable } from './table.ts'

const options = new Command('perf:android')
  .description(
    'Measures Halfbyte on connected Android phones, in their Chrome. Needs adb ("adb start-server").',
  )
  .option('--model <file>', 'the model', existingFile, 'demo/models/halfbyte-stories.hbm')
  .option('--threads <n>', 'threads', count, 2)
  .option('--minutes <n>', 'how long to repeat runs', minutes, 5)
  .option('--port <n>', 'port of the adb server', count, 5037)
  .option('--out <folder>', 'folder for the JSON files', 'build/perf/android')
  .parse()
  .opts<{ model: string; threads: number; minutes: number; port: number; out: string }>()

// Playwright's client throws socket errors outside any call. Lost phones are detected separately.
process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  if (['ECONNRESET', 'EPIPE', 'ECONNREFUSED'].includes(error.code ?? '')) return
  console.error(error)
  process.exit(1)
})

const adb = { host: '127.0.0.1', port: options.port }
const listed = await listPhones(adb)
if (listed === undefined) {
  console.log(`No adb server answers on port ${adb.port}; start one with "adb start-server".`)
}
for (const phone of listed ?? []) if (phone.state !== 'device') console.log(whyUnusable(phone))
const usable = listed?.filter(({ state }) => state === 'device') ?? []
if (usable.length === 0) console.log('No phone can be used, so none was measured.')
else await measureAll(usable)

async function measureAll(phones: readonly ListedPhone[]): Promise<void> {
  const watches = phones.map(({ serial }) => watchPhone(adb, serial))
  const gone = Promise.race(watches.map((watch) => watch.gone))
  const devices = await Promise.race([android.devices(adb), gone]).catch(() => [])
  for (const watch of watches) watch.stop()
  if (devices.length === 0) {
    console.log('A phone disappeared before it was measured; connect it again and repeat.')
    return
  }
  const site = await openSite()
  try {
    const modelUrl = site.add(basename(options.model), resolve(options.model))
    for (const device of devices) {
      const { threads, minutes } = options
      const seconds = minutes * 60
      const result = await measurePhone(device, { adb, siteUrl: site.url, modelUrl, threads, seconds })
      if (result.problem !== undefined) console.log(result.problem)
      await storeResult(options.out, result)
      await device.close().catch(() => undefined)
    }
  } finally {
    await site.close()
  }
  const { results, unreadable } = await storedResults(options.out)
  for (const name of unreadable) {
    console.log(`${name} in ${options.out} contains no result and is skipped; remove it.`)
  }
  console.log(phoneTable(results))
}

function whyUnusable({ serial, state }: ListedPhone): string {
  return state === 'unauthorized'
    ? `${serial} does not trust this machine yet; allow USB debugging on its screen.`
    : `${serial} is ${state}; connect it again.`
}

function existingFile(text: string): string {
  if (!existsSync(text)) throw new InvalidArgumentError('There is no such file.')
  return text
}

function count(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be a whole number of at least 1.')
  return value
}

/** Fractions are allowed. */
function minutes(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 600)) throw new InvalidArgumentError('It must be above 0 and at most 600.')
  return value
}
