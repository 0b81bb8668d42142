// Measuring a phone. In: a device, the suite's site and a model. Out: speeds, cold and while it gets warm,
// and energy where the device tells its current.
import type { AndroidDevice, Page } from '@playwright/test'
import { type AdbServer, reversePort } from './adb.ts'
import { type Battery, type DeviceFacts, readBattery, readFacts, type Shell, whyNot } from './facts.ts'

const DECODE = 32

/**
 * A model that was trained for stories goes on with one. Another number each time, so that nothing is cached.
 */
const promptOf = (run: number): string =>
  `${run} foxes lived in a wood. Every day they went down to the river. One day the first of them saw a small boat, and`

/** One run, with the state of the battery after it. */
export interface Sample {
  /** Seconds since the first run began. */
  readonly seconds: number
  readonly prefillTokensPerSecond: number
  readonly decodeTokensPerSecond: number
  readonly celsius: number
  readonly watts?: number | undefined
}

export interface PhoneResult {
  readonly serial: string
  readonly facts: DeviceFacts
  readonly battery: Battery
  readonly threads: number
  /** Why nothing was measured, or why it ended early. */
  readonly problem?: string
  readonly loadMs?: number
  /** The first one is cold. */
  readonly samples: readonly Sample[]
}

export interface PhoneOrder {
  readonly adb: AdbServer
  readonly siteUrl: string
  readonly modelUrl: string
  readonly threads: number
  /** How long runs are repeated. */
  readonly seconds: number
  /** Flags for the device's Chrome. */
  readonly flags?: readonly string[]
}

/** Never rejects because of the device: what went wrong becomes the result's problem. */
export async function measurePhone(device: AndroidDevice, order: PhoneOrder): Promise<PhoneResult> {
  const { adb, siteUrl, modelUrl, threads, seconds, flags = [] } = order
  const serial = device.serial()
  const shell: Shell = async (command) => (await device.shell(command)).toString()
  const facts = await readFacts(shell)
  const battery = await readBattery(shell)
  const samples: Sample[] = []
  const known = { serial, facts, battery, threads, samples }
  const problem = whyNot(facts, battery)
  if (problem !== undefined) return { ...known, problem }
  let loadMs: number | undefined
  try {
    await reversePort(adb, serial, Number(new URL(siteUrl).port))
    const browser = await device.launchBrowser({ args: [...flags] })
    const page = await browser.newPage()
    const gone = whenGone(device, page)
    const told = <T>(work: Promise<T>): Promise<T> => Promise.race([work, gone])
    try {
      await told(page.goto(siteUrl))
      await told(page.waitForFunction(() => window.perf !== undefined))
      const state = { layers: 0, kvHeads: 0, headDim: 0 }
      loadMs = await told(
        page.evaluate((asked) => window.perf.load(asked), {
          engine: 'halfbyte' as const,
          threads,
          modelUrl,
          state,
        }),
      )
      const start = performance.now()
      do {
        const prompt = promptOf(samples.length)
        const run = await told(
          page.evaluate(([text, count]) => window.perf.run(text, count), [prompt, DECODE] as const),
        )
        if (run.decodedTokens < 2) {
          throw new Error(`the model ended its reply after ${run.decodedTokens} tokens, which gives no speed`)
        }
        const { celsius, watts } = await told(readBattery(shell))
        samples.push({
          seconds: (performance.now() - start) / 1000,
          prefillTokensPerSecond: (1000 * run.promptTokens) / run.prefillMs,
          // The first token comes with the prompt.
          decodeTokensPerSecond: (1000 * (run.decodedTokens - 1)) / run.decodeMs,
          ...{ celsius, watts },
        })
      } while (performance.now() - start < seconds * 1000)
    } finally {
      await browser.close().catch(() => undefined)
    }
    return { ...known, loadMs }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
    const text = `${facts.model} (${serial}) stopped after ${samples.length} runs: ${why}. Connect it again and repeat.`
    return { ...known, ...(loadMs !== undefined && { loadMs }), problem: text }
  }
}

/** Rejects when the device or its page goes away; calls to a page that is gone would wait for ever. */
function whenGone(device: AndroidDevice, page: Page): Promise<never> {
  const gone = new Promise<never>((_, reject) => {
    device.once('close', () => reject(new Error('the device is gone')))
    page.once('close', () => reject(new Error('its browser is gone')))
    page.once('crash', () => reject(new Error('its page was killed')))
  })
  gone.catch(() => undefined)
  return gone
}
