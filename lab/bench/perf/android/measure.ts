// Measures a model on a phone, cold and while it warms up, and energy if the device reports its current.
import type { AndroidDevice, Page } from '@playwright/test'
import { type AdbServer, reversePort, watchPhone } from './adb.ts'
import {
  type Battery,
  type DeviceFacts,
  readBattery,
  readFacts,
  type Shell,
  UNKNOWN_BATTERY,
  UNKNOWN_FACTS,
  whyNot,
} from './facts.ts'

const DECODE = 32

/**
 * The beginning of a story, for a story model. The number differs each time, so that nothing is cached.
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
  /** Why nothing was measured, or why the run ended early. */
  readonly problem?: string
  readonly loadMs?: number
  /** The first run is cold. */
  readonly samples: readonly Sample[]
}

export interface PhoneOrder {
  readonly adb: AdbServer
  readonly siteUrl: string
  readonly modelUrl: string
  readonly threads: number
  /** How long to repeat runs. */
  readonly seconds: number
  /** Flags for the device's Chrome. */
  readonly flags?: readonly string[]
}

/** Never rejects because of the device; such an error becomes the `problem` of the result. */
export async function measurePhone(device: AndroidDevice, order: PhoneOrder): Promise<PhoneResult> {
  const { adb, siteUrl, modelUrl, threads, seconds, flags = [] } = order
  const serial = device.serial()
  const watch = watchPhone(adb, serial)
  const told = <T>(work: Promise<T>): Promise<T> => Promise.race([work, watch.gone])
  const shell: Shell = async (command) => (await told(device.shell(command))).toString()
  const samples: Sample[] = []
  let known: PhoneResult = { serial, facts: UNKNOWN_FACTS, battery: UNKNOWN_BATTERY, threads, samples }
  let loadMs: number | undefined
  try {
    const facts = await readFacts(shell)
    const battery = await readBattery(shell)
    known = { ...known, facts, battery }
    const problem = whyNot(facts, battery)
    if (problem !== undefined) return { ...known, problem }
    await told(reversePort(adb, serial, Number(new URL(siteUrl).port)))
    const browser = await told(device.launchBrowser({ args: [...flags] }))
    const page = await told(browser.newPage())
    const lost = whenLost(page)
    const shown = <T>(work: Promise<T>): Promise<T> => told(Promise.race([work, lost]))
    try {
      await shown(page.goto(siteUrl))
      await shown(page.waitForFunction(() => window.perf !== undefined))
      const state = { layers: 0, kvHeads: 0, headDim: 0 }
      loadMs = await shown(
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
        const run = await shown(
          page.evaluate(([text, count]) => window.perf.run(text, count), [prompt, DECODE] as const),
        )
        if (run.decodedTokens < 2) {
          throw new Error(`the model ended its reply after ${run.decodedTokens} tokens, which gives no speed`)
        }
        const { celsius, watts } = await readBattery(shell)
        samples.push({
          seconds: (performance.now() - start) / 1000,
          prefillTokensPerSecond: (1000 * run.promptTokens) / run.prefillMs,
          // The first token belongs to the prompt.
          decodeTokensPerSecond: (1000 * (run.decodedTokens - 1)) / run.decodeMs,
          celsius,
          watts,
        })
      } while (performance.now() - start < seconds * 1000)
    } finally {
      await told(browser.close()).catch(() => undefined)
    }
    return { ...known, loadMs }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
    const text = `${known.facts.model} (${serial}) stopped after ${samples.length} runs: ${why}. Connect it again and repeat.`
    return { ...known, ...(loadMs !== undefined && { loadMs }), problem: text }
  } finally {
    watch.stop()
  }
}

/** Rejects when the page closes; calls to a closed page would wait forever. */
function whenLost(page: Page): Promise<never> {
  const lost = new Promise<never>((_, reject) => {
    page.once('close', () => reject(new Error('its browser disappeared')))
    page.once('crash', () => reject(new Error('its page was killed')))
  })
  lost.catch(() => undefined)
  return lost
}
