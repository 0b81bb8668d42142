// Tests the table of faults. In: each fault, on a real server. Out: the table's outcomes and delays, and the
// model once the server works.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { ggufBytes } from '../../../test/conformance/testing/writers/gguf-writer.ts'
import { serveFiles } from '../../../test/helpers/file-server.ts'
import { openModel } from '../arch/open-model.ts'
import type { HalfbyteError } from '../base/errors.ts'
import { givenPlace } from '../formats/names/named-files.ts'
import { distrust } from './device/load-marks.ts'
import { CHUNK_BYTES } from './device/sums.ts'
import { openAddress } from './open-address.ts'
import { FAULTS, type Fault, NEXT } from './testing/faults.ts'
import { memoryStorage } from './testing/memory-folders.ts'

/** Three chunks of a download. */
const WEIGHTS = new Uint8Array(2.5 * CHUNK_BYTES).map((_, at) => (at * 31 + (at >> 9)) & 255)
const NEXT_WEIGHTS = WEIGHTS.map((byte) => byte ^ 1)
/**
 * If a load may take longer than 2 s, its delays are divided by this factor; retry.test.ts checks the default
 * delays.
 */
const HURRY = 12

/**
 * How long a load has waited, in milliseconds: each timer that fires sets it to the time at which it would
 * have fired. Computing and sending do not count.
 */
interface Waited {
  ms: number
  readonly hurry: number
}
const waits = new AsyncLocalStorage<Waited>()
const timer = globalThis.setTimeout

/** Timers of a load count towards it; others are left alone. */
function countedTimer(run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) {
  const waited = waits.getStore()
  const end = waited === undefined ? 0 : waited.ms + ms * waited.hurry
  return timer(() => {
    if (waited !== undefined) waited.ms = Math.max(waited.ms, end)
    run(...args)
  }, ms)
}

interface Outcome {
  readonly code: string | undefined
  readonly message: string
  readonly weights: Uint8Array | undefined
  readonly requests: number
  readonly seconds: number
  /** The result of the next load, from a working server. */
  readonly then: Uint8Array | string
}

const gguf = (weights: Uint8Array): Promise<Uint8Array> =>
  ggufBytes({
    metadata: { 'general.architecture': ['string', 'llama'] },
    tensors: [{ name: 'w', dtype: 'F32', shape: [weights.length / 4], data: () => [weights] }],
  })

async function load(url: string, hurry: number, stands = false): Promise<Uint8Array> {
  try {
    const sources = await openAddress(givenPlace(url), {
      firstWaitMs: 500 / hurry,
      stallMs: 30_000 / (stands ? hurry : 1),
    })
    const { source, offset, byteLength } = (await openModel(sources)).tensors.get('w')!
    return await source.read(offset, byteLength)
  } catch (error) {
    await distrust(url, error as HalfbyteError)
    throw error
  }
}

/** Whether the fault makes a connection hang. The wait for that is not reported. */
const stands = ({ behaviour: { isSilent, stalls } }: Fault) => isSilent === true || stalls === true

async function outcomeOf(fault: Fault): Promise<Outcome> {
  const { behaviour, isAbsent, seconds } = fault
  const files = { 'm.gguf': await gguf(WEIGHTS), [NEXT]: await gguf(NEXT_WEIGHTS) }
  const server = await serveFiles(files)
  server.behaviour = behaviour
  // Delays that a server requests are kept in full.
  const hurry = seconds > 2 && behaviour.retryAfter === undefined ? HURRY : 1
  const url = `${server.address}m.gguf`
  const address = isAbsent === true ? url.replace(/:\d+/, ':1') : url
  const waited: Waited = { ms: 0, hurry }
  const result = await waits.run(waited, () => load(address, hurry, stands(fault))).catch((error) => error)
  const requests = server.requests.length
  server.behaviour = { etag: '"well"' }
  const then = await load(url, 1).catch((error) => String(error))
  await server.close()
  const isError = result instanceof Error
  return {
    code: isError ? (result as HalfbyteError).code : undefined,
    message: isError ? String(result) : 'it loaded',
    weights: isError ? undefined : result,
    requests,
    seconds: waited.ms / 1000,
    then,
  }
}

const outcomes = new Map<Fault, Outcome>()
beforeAll(async () => {
  memoryStorage()
  vi.stubGlobal('setTimeout', countedTimer)
  const { storage } = navigator
  const estimate = async () => ({ quota: 100 << 20, usage: 60 << 20 })
  vi.stubGlobal('navigator', { ...navigator, storage: { ...storage, estimate } })
  const outcome = async (fault: Fault) => void outcomes.set(fault, await outcomeOf(fault))
  const waiting = Promise.all(FAULTS.filter(stands).map(outcome))
  for (const fault of FAULTS) if (!stands(fault)) await outcome(fault)
  await waiting
})

describe.each(FAULTS)('a server that $title', (fault) => {
  test(`ends in ${fault.code ?? 'the model'}, with ${fault.requests} requests and in ${fault.seconds} s at most`, () => {
    const { code, message, weights, requests, seconds } = outcomes.get(fault)!
    expect(code, message).toBe(fault.code)
    if (fault.code === undefined) {
      expect(Buffer.compare(weights!, fault.isNext === true ? NEXT_WEIGHTS : WEIGHTS)).toBe(0)
    }
    expect(requests).toBeLessThanOrEqual(fault.requests)
    expect(seconds).toBeLessThanOrEqual(fault.seconds)
  })

  test('delivers the model once it works', () => {
    const { then } = outcomes.get(fault)!
    expect(typeof then === 'string' ? then : then.length).toBe(WEIGHTS.length)
    expect(Buffer.compare(then as Uint8Array, WEIGHTS) === 0 || fault.isNext).toBe(true)
  })
})

test('the table in the guide matches this one', () => {
  const text = readFileSync(new URL('../../../docs/guide/loading.md', import.meta.url), 'utf8')
  const rows = FAULTS.map(
    ({ title, sees, code, requests, seconds }) =>
      `| ${title} | ${sees} | ${code === undefined ? '' : `\`${code}\``} | ${requests} | ${seconds} |`,
  )
  for (const row of rows) expect(text).toContain(row)
})
