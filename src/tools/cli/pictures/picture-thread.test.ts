// The image thread. In: files, pixels and aborts, with real workers, and a worker that never answers. Out:
// the tower's input or an error, while this thread keeps running.
import { encode } from 'fast-png'
import { expect, test } from 'vitest'
import { type CutRules, cutPicture } from '../../../core/vision/cut-picture.ts'
import { nodeHost } from '../node-host.ts'
import { pictureThread } from './picture-thread.ts'

const RULES: CutRules = {
  ...{ cut: 'stretched', projector: 'mlp', filter: 'bicubic', imageSize: 8, patchSize: 4, merge: 1 },
  ...{ mean: [0.5, 0.5, 0.5], longestEdge: 8, shortestEdge: 8 },
}
const pattern = (width: number, height: number) => ({
  ...{ width, height },
  data: Uint8Array.from({ length: 4 * width * height }, (_, at) => (at % 4 === 3 ? 255 : at * 7)),
})

test('a file and its pixels are cropped as on this thread, and the caller can still use them', async () => {
  const { cutPicture: read } = nodeHost()
  const pixels = pattern(30, 20)
  const file = encode({ ...pixels, channels: 4 })
  const expected = cutPicture(RULES, pixels)
  expect(await Promise.all([read!(file, RULES), read!(pixels, RULES)])).toEqual([expected, expected])
  expect([file.length > 100, pixels.data.length]).toEqual([true, 2400])
})

test('an error keeps its class, and a damaged file is rejected with a reason', async () => {
  const { cutPicture: read } = nodeHost()
  const wrong = { width: 1 << 15, height: 1, data: new Uint8Array(4) }
  await expect(read!(wrong, RULES)).rejects.toMatchObject({ name: 'HalfbyteError', code: 'unsupported' })
  await expect(read!(Uint8Array.of(0xff, 0xd8, 0xff), RULES)).rejects.toThrow(/ends before its pixels/)
  await expect(read!(Uint8Array.of(1, 2, 3), RULES)).rejects.toThrow(/only PNG and JPEG/)
})

/** A worker that never answers, and counts its instances. */
function silent() {
  const running = { now: 0, started: 0 }
  const start = () => {
    running.now += 1
    running.started += 1
    return {
      ...{ postMessage: () => undefined, onMessage: () => undefined, onError: () => undefined },
      terminate: () => {
        running.now -= 1
      },
    }
  }
  return { start, running }
}

test('an abort terminates the worker, and queued images are never started', async () => {
  const { start, running } = silent()
  const read = pictureThread(start)
  const [first, second] = [new AbortController(), new AbortController()]
  const reading = read(pattern(2, 2), RULES, first.signal)
  const waiting = read(pattern(2, 2), RULES, second.signal)
  await Promise.resolve()
  expect(running).toEqual({ now: 1, started: 1 })
  second.abort(new Error('not any more'))
  await expect(waiting).rejects.toThrow('not any more')
  expect(running).toEqual({ now: 1, started: 1 })
  first.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
  await new Promise((resolve) => setImmediate(resolve))
  expect(running).toEqual({ now: 0, started: 1 })
  await expect(read(pattern(2, 2), RULES, first.signal)).rejects.toThrow('enough')
})

test('a failed worker is reported, and the next image gets a new worker', async () => {
  const ports = [(fail: (error: Error) => void) => fail(new Error('it ended with code 1')), () => undefined]
  let started = 0
  const read = pictureThread(() => {
    const act = ports[started++]!
    return {
      ...{ postMessage: () => undefined, terminate: () => undefined },
      onMessage: (listener) =>
        void (started === 2 && listener({ type: 'cut', cut: { tiles: [], parts: [] } })),
      onError: act,
    }
  })
  await expect(read(pattern(2, 2), RULES)).rejects.toThrow('it ended with code 1')
  expect(await read(pattern(2, 2), RULES)).toEqual({ tiles: [], parts: [] })
})
