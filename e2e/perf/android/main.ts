// npm run perf:android. In: phones on an adb server, and a model. Out: their speeds, cold and sustained, as
// JSON, and a table of all phones that were measured so far. Without a phone it says so and ends well.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { _android as android } from '@playwright/test'
import { Command } from 'commander'
import { openSite } from '../host/site.ts'
import { isRunning } from './adb.ts'
import { measurePhone, type PhoneResult } from './measure.ts'
import { phoneTable } from './table.ts'

const options = new Command('perf:android')
  .description(
    'Measures Halfbyte on connected Android phones, in their Chrome. Needs adb ("adb start-server").',
  )
  .option('--model <file>', 'the model', 'demo/models/halfbyte-stories.hbm')
  .option('--threads <n>', 'threads', Number, 2)
  .option('--minutes <n>', 'how long runs are repeated', Number, 5)
  .option('--port <n>', 'port of the adb server', Number, 5037)
  .option('--out <folder>', 'where the JSON files go', 'build/perf/android')
  .parse()
  .opts<{ model: string; threads: number; minutes: number; port: number; out: string }>()

const adb = { host: '127.0.0.1', port: options.port }
const hasServer = await isRunning(adb)
if (!hasServer) console.log(`No adb server answers on port ${adb.port}; start one with "adb start-server".`)
const devices = hasServer ? await android.devices(adb) : []
if (devices.length === 0) console.log('No phone is connected, so none was measured.')
else await measureAll()

async function measureAll(): Promise<void> {
  await mkdir(options.out, { recursive: true })
  const site = await openSite()
  try {
    const modelUrl = site.add(basename(options.model), resolve(options.model))
    for (const device of devices) {
      const { threads, minutes } = options
      const result = await measurePhone(device, {
        adb,
        siteUrl: site.url,
        modelUrl,
        threads,
        seconds: minutes * 60,
      })
      if (result.problem !== undefined) console.log(result.problem)
      const name = `${result.facts.model.replace(/[^\w-]+/g, '-')}-${result.serial.replace(/[^\w-]+/g, '-')}.json`
      await writeFile(join(options.out, name), `${JSON.stringify(result, undefined, 1)}\n`)
      await device.close().catch(() => undefined)
    }
  } finally {
    await site.close()
  }
  const names = (await readdir(options.out)).filter((name) => name.endsWith('.json')).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(options.out, name), 'utf8')))
  console.log(phoneTable(texts.map((text) => JSON.parse(text) as PhoneResult)))
}
