// Reads request bodies before they take a slot, with limits on the size of each, on their total size and on
// idle time.
import { finished, type Readable } from 'node:stream'
import { bodyTooLong, MAX_BODY_BYTES } from '../../../adapters/openai-server/body.ts'
import { busy, type Refusal, refusal } from './refusal.ts'

export interface BodyLimits {
  readonly bodyBytes: number
  /** Maximum total size of all bodies that are being received or answered. */
  readonly allBytes: number
  /** Maximum number of bodies that are received at the same time. */
  readonly readers: number
  /** How long a client may send nothing of a body. */
  readonly stallMilliseconds: number
}

const MAX_HELD_BYTES = 256 << 20
const MAX_READERS = 1024
const LONGEST_STALL_MILLISECONDS = 30_000

const LIMITS: BodyLimits = {
  bodyBytes: MAX_BODY_BYTES,
  allBytes: MAX_HELD_BYTES,
  readers: MAX_READERS,
  stallMilliseconds: LONGEST_STALL_MILLISECONDS,
}

/** A body in memory. Its bytes count towards the limit until it is disposed. */
interface HeldBody extends Disposable {
  readonly bytes: Uint8Array<ArrayBuffer>
}

interface Reader {
  bytes: number
  readonly refuse: (reason: Refusal) => void
}

export class RequestBodies {
  readonly #limits: BodyLimits
  readonly #readers = new Set<Reader>()
  #held = 0

  constructor(limits: Partial<BodyLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /** Bytes of all bodies in memory. */
  get held(): number {
    return this.#held
  }

  /** Bodies that are being received. */
  get readers(): number {
    return this.#readers.size
  }

  /** Rejects all bodies that are being received. */
  refuseAll(reason: Refusal): void {
    for (const { refuse } of this.#readers) refuse(reason)
  }

  /**
   * Rejects with `Refusal` for a body that is too long or stalls for too long, or if all bodies together take
   * too much memory, and with the stream's error if the client disconnects.
   */
  async read(stream: Readable): Promise<HeldBody> {
    const { readers } = this.#limits
    if (this.#readers.size >= readers) throw busy(`${readers} requests are being received`)
    const chunks = await this.#chunks(stream)
    const bytes = Buffer.concat(chunks)
    return {
      bytes,
      [Symbol.dispose]: () => {
        this.#held -= bytes.byteLength
      },
    }
  }

  #chunks(stream: Readable): Promise<Uint8Array[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array[]>()
    const { stallMilliseconds } = this.#limits
    const chunks: Uint8Array[] = []
    const reader: Reader = { bytes: 0, refuse: reject }
    const stalled = refusal(
      408,
      `the body stalled for ${stallMilliseconds / 1000} s; send the request again`,
      'request_timeout',
      { connection: 'close' },
    )
    const timer = setTimeout(() => reject(stalled), stallMilliseconds)
    const take = (chunk: Uint8Array) => {
      timer.refresh()
      chunks.push(chunk)
      reader.bytes += chunk.byteLength
      this.#held += chunk.byteLength
      this.#refuseBeyondLimits(reader)
    }
    this.#readers.add(reader)
    stream.on('data', take)
    const forget = finished(stream, { writable: false }, (error) => (error ? reject(error) : resolve(chunks)))
    return promise
      .catch((error) => {
        this.#held -= reader.bytes
        throw error
      })
      .finally(() => {
        clearTimeout(timer)
        forget()
        stream.off('data', take)
        this.#readers.delete(reader)
      })
  }

  /** Drops the longest body, so that long bodies cannot block short ones. */
  #refuseBeyondLimits(reader: Reader): void {
    const { allBytes, bodyBytes } = this.#limits
    if (reader.bytes > bodyBytes) reader.refuse(refusal(400, bodyTooLong(bodyBytes), 'unsupported'))
    if (this.#held <= allBytes) return
    const longest = [...this.#readers].reduce((most, each) => (each.bytes > most.bytes ? each : most), reader)
    longest.refuse(busy(`requests of ${allBytes / 2 ** 20} MiB are in progress`))
  }
}
