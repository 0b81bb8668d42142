// Probing. In: headers of models without weights, a host with little memory. Out: whether they fit, and what
// would fit instead.
import { describe, expect, test } from 'vitest'
import { LLAMA_1B, QWEN_05B, type Shape } from '../../../lab/bench/shapes.ts'
import {
  type HollowModel,
  hollowModel,
  hollowSource,
} from '../../../test/conformance/testing/writers/hollow-model.ts'
import { givenPlace } from '../../core/formats/names/named-files.ts'
import { EXACT_KV } from '../../core/graph/ir.ts'
import type { Host } from '../../core/runtime/host.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import type { FilePeeker } from '../load/open/requested-files.ts'
import type { ProbeRequest } from '../wire/protocol.ts'
import { probeModel } from './probe.ts'

const SHAPE: Shape = { ...LLAMA_1B, vocabSize: 1024 }
const MODEL = hollowModel(SHAPE, 'Q8_0')
const REQUEST: ProbeRequest = {
  source: givenPlace('model'),
  threads: 1,
  build: 'auto',
  weights: 'auto',
  kvCache: EXACT_KV,
  contextLength: 4096,
  cache: 'none',
  assets: {},
}

/**
 * On its clock the first run uses up the time limit for measuring speed, because most cases only check what
 * fits.
 */
const hurried = (): Host => {
  let now = 0
  return { ...nodeHost(), now: () => (now += 100) }
}

const peekAt =
  (model: HollowModel): FilePeeker =>
  async () => ({
    sources: [hollowSource('model.gguf', model)],
    downloadBytes: model.size,
    close: async () => undefined,
  })

const probe = (
  changes: Partial<ProbeRequest> = {},
  host: Host = hurried(),
  signal = new AbortController().signal,
) => probeModel({ ...REQUEST, ...changes }, { signal }, host, peekAt(MODEL))

describe('a probe', () => {
  test.each([
    ['stands still', () => 7],
    ['goes backwards', (reading: number) => -3_600_000 * reading],
    ['says nonsense', (reading: number) => (reading % 2 === 0 ? Number.NaN : Number.POSITIVE_INFINITY)],
  ])('terminates with finite speeds on a clock that %s', async (_, clock) => {
    let readings = 0
    const report = await probe({}, { ...nodeHost(), now: () => clock(readings++) })
    for (const speed of [report.prefillTokensPerSecond, report.decodeTokensPerSecond])
      expect(speed !== undefined && Number.isFinite(speed) && speed >= 0).toBe(true)
  })

  test('reports a model’s memory need, download and speed from its header alone', async () => {
    const report = await probe({}, nodeHost())
    const weights = MODEL.size - MODEL.header.length
    const state = 2 * SHAPE.layers * SHAPE.kvHeads * SHAPE.headDim * 4 * 4096
    expect(report).toMatchObject({ fits: true, contextLength: 4096, downloadBytes: MODEL.size })
    expect(report.suggestion).toBeUndefined()
    expect(report.neededBytes).toBeGreaterThan(weights + state)
    expect(report.neededBytes).toBeLessThan(weights + state + (64 << 20))
    expect(report.grantedBytes).toBeGreaterThanOrEqual(report.neededBytes)
    expect(report.prefillTokensPerSecond).toBeGreaterThan(0)
    expect(report.decodeTokensPerSecond).toBeGreaterThan(0)
  })

  test('proposes a smaller context, then int8 keys and values, then 4-bit weights, then combinations', async () => {
    const int8 = { k: 'int8', v: 'int8' } as const
    const full = (await probe()).neededBytes
    const short = (await probe({ contextLength: 512 })).neededBytes
    const small = (await probe({ weights: 'w4', kvCache: int8, contextLength: 1024 })).neededBytes
    const cases: [ways: string, limitBytes: number, contextLength: number][] = [
      ['contextLength', full - 1, 4096],
      ['kvCache', short - 1, 1024],
      ['weights', short - (200 << 20), 4096],
      ['kvCache weights', small, 1024],
      ['contextLength kvCache weights', small - 1, 1024],
      ['', 20 << 20, 4096],
    ]
    for (const [ways, limitBytes, contextLength] of cases) {
      const { fits, grantedBytes, suggestion } = await probe({ limitBytes, contextLength })
      expect({ fits, grantedBytes }, ways).toEqual({ fits: false, grantedBytes: limitBytes })
      expect(
        Object.keys(suggestion ?? {})
          .sort()
          .join(' '),
      ).toBe(ways)
      if (suggestion === undefined) continue
      expect(await probe({ limitBytes, contextLength, ...suggestion }), ways).toMatchObject({ fits: true })
    }
  })

  test('proposes the longest context that fits, in whole blocks', async () => {
    const { neededBytes } = await probe({ contextLength: 1024 })
    const block = 64
    for (const [limitBytes, contextLength] of [
      [neededBytes, 1024],
      [neededBytes - 1, 1024 - block],
    ] as const) {
      expect((await probe({ limitBytes })).suggestion).toEqual({ contextLength })
    }
  })

  test('proposes less memory for the same weights before smaller weights, if only a smaller context fits', async () => {
    const kvCache = { k: 'int8', v: 'int8' } as const
    const { neededBytes: limitBytes } = await probe({ kvCache, contextLength: 1024 })
    const { suggestion } = await probe({ limitBytes, contextLength: 100_000 })
    expect(suggestion).toEqual({ kvCache, contextLength: 1024 })
  })

  test('proposes int8 values alone if keys have a bias', async () => {
    const qwen = peekAt(hollowModel({ ...QWEN_05B, vocabSize: 1024 }, 'Q8_0'))
    const ask = (changes: Partial<ProbeRequest>) =>
      probeModel({ ...REQUEST, ...changes }, { signal: new AbortController().signal }, hurried(), qwen)
    const kvCache = { k: 'f32', v: 'int8' } as const
    const { neededBytes: limitBytes } = await ask({ kvCache, contextLength: 576 })
    const { suggestion } = await ask({ limitBytes, contextLength: 100_000 })
    expect(suggestion).toEqual({ kvCache, contextLength: 576 })
  })

  test('releases the files, even if one of them is not a model', async () => {
    const closed: string[] = []
    const peekFiles: FilePeeker = async ({ source }) => ({
      sources: source === 'draft' ? [] : [hollowSource('model.gguf', MODEL)],
      downloadBytes: 0,
      close: async () => void closed.push(String(source)),
    })
    const { signal } = new AbortController()
    await probeModel(REQUEST, { signal }, hurried(), peekFiles)
    const failing = probeModel({ ...REQUEST, draft: givenPlace('draft') }, { signal }, hurried(), peekFiles)
    await expect(failing).rejects.toMatchObject({ code: 'format' })
    expect(closed).toEqual(['model', 'model', 'draft'])
  })

  test('never assumes more memory than the device has', async () => {
    const host = { ...hurried(), deviceBytes: 800 << 20 }
    const { fits, grantedBytes, suggestion } = await probe({}, host)
    expect({ fits, grantedBytes }).toEqual({ fits: false, grantedBytes: 800 << 20 })
    expect(suggestion).toMatchObject({ weights: 'w4' })
  })

  test('counts a draft model', async () => {
    const one = await probe()
    const two = await probe({ draft: givenPlace('draft') })
    expect(two.neededBytes).toBeGreaterThan(1.9 * one.neededBytes)
    expect(two.downloadBytes).toBe(2 * one.downloadBytes)
  })

  test('rejects with the reason if it is aborted', async () => {
    const reason = new Error('closed')
    await expect(probe({}, hurried(), AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})
