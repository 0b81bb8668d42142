// Reads images on their own thread, so that a large one does not block other replies. Images are read one at
// a time, each in a new worker, which releases its memory when it ends.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { unlessAborted } from '../../../core/base/time/abort.ts'
import { SerialQueue } from '../../../core/base/time/serial-queue.ts'
import type { Host } from '../../../core/runtime/host.ts'
import type { PictureReply, PictureRequest } from './picture-messages.ts'

/** An image worker that has started. */
interface PicturePort {
  postMessage(message: PictureRequest, transfer?: readonly unknown[]): void
  onMessage(listener: (message: PictureReply) => void): void
  onError(listener: (error: Error) => void): void
  terminate(): void
}

/** The largest image takes 2 s on a slow processor; a machine that takes this long is overloaded. */
const MAX_MS = 60_000

export function pictureThread(start: () => PicturePort): NonNullable<Host['cutPicture']> {
  const queue = new SerialQueue()
  return (picture, rules, signal) => queue.run(() => readOn(start, { picture, rules }, signal), signal)
}

/** Rejects with what the worker throws, a typed error after `MAX_MS`, or the signal's reason. */
async function readOn(
  start: () => PicturePort,
  request: PictureRequest,
  signal: AbortSignal | undefined,
): ReturnType<NonNullable<Host['cutPicture']>> {
  const port = start()
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const answered = new Promise<PictureReply>((resolve, reject) => {
      port.onMessage(resolve)
      port.onError(reject)
      timer = setTimeout(() => reject(tooSlow()), MAX_MS)
      port.postMessage(request)
    })
    const reply = await unlessAborted(answered, signal)
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
    `the picture could not be read within ${MAX_MS / 1000} s; make it smaller, or reduce the load on this machine`,
    { seconds: MAX_MS / 1000 },
  )
