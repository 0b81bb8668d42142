// Simulates a link of a given speed and delay to a server's port.
// Bytes are delayed between two sockets, below HTTP, so workers and service workers are slowed like the page.
// DevTools' own throttling does not slow workers.
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LinkSpeed {
  /** Speed to the browser, shared by all connections. Infinity: unlimited. */
  readonly bytesPerSecond: number
  /** Round-trip time. */
  readonly roundTripMs: number
}

export interface Link {
  /** Ends with a slash. */
  readonly address: string
  readonly speed: LinkSpeed
  /** Bytes sent to the browser, including headers. */
  bytes: number
  /** Ends all connections and refuses new ones from then on, as if the network were off. */
  cut(): void
}

/** The size of a few packets. Smaller parts would need more timers, larger ones would be less fair. */
const PART_BYTES = 8192

/** A clock in milliseconds. */
export interface LinkTime {
  now(): number
  sleep(ms: number): Promise<unknown>
}

const REAL_TIME: LinkTime = { now: () => performance.now(), sleep }

export async function openLink(
  port: number,
  speed: LinkSpeed,
  { now, sleep }: LinkTime = REAL_TIME,
): Promise<Link> {
  const sockets = new Set<Socket>()
  /** The time at which the link will have sent everything given to it so far. */
  let freeAt = 0
  const server = createServer((browser) => {
    const origin = connect(port, '127.0.0.1')
    const { roundTripMs } = link.speed
    // Opening a connection takes a round trip before the first byte of a request leaves.
    const opened = sleep(roundTripMs)
    pass(browser, origin, async () => {
      await opened
      await sleep(roundTripMs / 2)
    })
    pass(origin, browser, async (length) => {
      const start = now()
      freeAt = Math.max(start, freeAt) + (1000 * length) / link.speed.bytesPerSecond
      await sleep(freeAt - start + roundTripMs / 2)
      link.bytes += length
    })
    for (const socket of [browser, origin]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('the link has no port')
  const cut = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  const address = `http://127.0.0.1:${bound.port}/`
  const link: Link = { address, speed, bytes: 0, cut }
  return link
}

/** Forwards incoming data in order, each part after its delay. */
function pass(from: Socket, to: Socket, delay: (bytes: number) => Promise<unknown>): void {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  from.on('data', (data) => {
    for (let at = 0; at < data.length; at += PART_BYTES) {
      const part = data.subarray(at, at + PART_BYTES)
      const due = delay(part.length)
      waiting += part.length
      last = Promise.all([last, due]).then(() => {
        waiting -= part.length
        if (!to.destroyed) to.write(part)
        if (waiting < 16 * PART_BYTES) from.resume()
      })
    }
    // Unsent bytes must not accumulate here.
    if (waiting >= 16 * PART_BYTES) from.pause()
  })
  // A server closes connections that seem idle while their bytes are still waiting here.
  from.on('close', () => void last.then(() => to.destroySoon()))
}
