// Reads images on their own thread, so that a large one does not block other replies: one after the other,
// each in a new worker, whose memory is released when it ends.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Host } from '../../../core/runtime/host.ts'
import type { PictureReply, PictureRequest } from './picture-messages.ts'

/** An image worker that has started. */
interface PicturePort {
  postMessage(message: PictureRequest, transfer?: readonly unknown[]): void
  onMessage(listener: (message: PictureReply) => void): void
  onError(listener: (error: Error) => void): void
  terminate(): void
}

/** The largest image takes 2 s on a slow processor. A machine that is this late does too much else. */
const MOST_MS = 60_000

export function pictureThread(start: () => PicturePort): NonNullable<Host['cutPicture']> {
  let last: Promise<unknown> = Promise.resolve()
  return (picture, rules, signal) => {
    const turn = last.then(() => readOn(start, { picture, rules }, signal))
    last = turn.catch(() => undefined)
    return signal === undefined ? turn : Promise.race([turn, aborted(signal)])
  }
}

/** Rejects with the signal's reason. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })

/** Rejects with the worker's error, a typed error after `MOST_MS`, or the signal's reason. */
async function readOn(
  start: () => PicturePort,
  request: PictureRequest,
  signal: AbortSignal | undefined,
): ReturnType<NonNullable<Host['cutPicture']>> {
  signal?.throwIfAborted()
  const port = start()
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const reply = await new Promise<PictureReply>((resolve, reject) => {
      port.onMessage(resolve)
      port.onError(reject)
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      timer = setTimeout(() => reject(tooSlow()), MOST_MS)
      port.postMessage(request)
    })
    if (reply.type === 'cut') return reply.cut
    throw reply.type === 'failed' ? HalfbyteError.fromWire(reply.error) : new Error(reply.reason)
  } finally {
    clearTimeout(timer)
    port.terminate()
  }
}

const tooSlow = (): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `a picture was not read within ${MOST_MS / 1000} s; make it smaller, or give the machine less to do`,
    { seconds: MOST_MS / 1000 },
  )
