// The server's process and its rounds. Out: anything that a round left behind.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Random } from '../../helpers/random.ts'
import type { Check } from '../rounds.ts'
import { Asker, type Outcome } from './asking.ts'
import { MAX_REQUESTS, STATE_BYTES } from './limits.ts'
import type { Told } from './served.ts'

export class Watched {
  readonly #child: ChildProcess
  readonly #asker: Asker
  /** Number of requests that the server must have received. */
  #sent = 0
  readonly counts: Record<string, number> = {}

  readonly #address: string

  private constructor(child: ChildProcess, address: string, asker: Asker) {
    this.#child = child
    this.#address = address
    this.#asker = asker
  }

  /** Starts the server, and collects the answers that it gives to single requests. */
  static async start(): Promise<Watched> {
    // With a single arena of glibc, resident memory is the memory in use.
    const child = fork(join(import.meta.dirname, 'served.ts'), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: { ...process.env, MALLOC_ARENA_MAX: '1' },
    })
    const [address] = (await once(child, 'message')) as [string]
    const asker = new Asker(address)
    await asker.learn()
    return new Watched(child, address, asker)
  }

  async told(): Promise<Told> {
    this.#child.send('memory')
    const [told] = (await once(this.#child, 'message')) as [Told]
    return told
  }

  /**
   * Sends one request from each of `clients` at a time, and aborts some of them. One round in eight is full:
   * it sends more requests than allowed. In one round in four, another client reads nothing.
   */
  async round(random: Random, clients: number, isFull = random.chance(0.125)): Promise<Check[]> {
    const most = isFull ? MAX_REQUESTS + clients : clients
    const silent = random.chance(0.25) ? await readNothing(this.#address) : undefined
    const outcomes = await Promise.all(
      Array.from({ length: most }, () => this.#asker.ask(random, random.chance(0.4))),
    )
    this.#sent += most
    for (const { kind, end } of outcomes) this.#count(`${kind}, ${end}`)
    if (silent !== undefined) this.#count('reads nothing')
    const checks = [...answerChecks(outcomes, clients), ...(await this.#left())]
    silent?.destroy()
    return [...checks, await this.#scraped()]
  }

  /** Scrapes the metrics from time to time, like a monitoring tool. */
  async #scraped(): Promise<Check> {
    const text = await (await fetch(this.#address.replace(/v1$/, 'metrics'))).text()
    this.#sent++
    const running = /^halfbyte_requests_running (\d+)$/m.exec(text)?.[1]
    return { what: `the metrics say that ${running} requests are running`, holds: running === '0' }
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1
  }

  /** Checks that a round leaves no state in use and no unfinished requests. */
  async #left(): Promise<Check[]> {
    let told = await this.told()
    // The server notices an abort a little later than the client.
    for (let turn = 0; turn < 100 && told.stateBytes > 0; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      told = await this.told()
    }
    return [
      { what: `no state is in use after a round (${told.stateBytes} bytes)`, holds: told.stateBytes === 0 },
      {
        what: `cached state stays within its budget (${told.keptBytes} of ${STATE_BYTES} bytes)`,
        holds: told.keptBytes <= STATE_BYTES,
      },
    ]
  }

  /** Requests that the server has finished, and those that the clients sent. */
  async ended(): Promise<Check> {
    const { ended } = await this.told()
    const seen = Object.values(ended).reduce((sum, count) => sum + count, 0)
    // An abort may happen before the request is sent. Clients that read nothing are not counted in `#sent`.
    const most = this.#sent + 8 + (this.counts['reads nothing'] ?? 0)
    return {
      what: `${seen} requests ended, at most the ${most} that were sent`,
      holds: seen > 0 && seen <= most,
    }
  }

  async close(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.send('end')
    await exit
  }
}

/** A client that has sent a request for a stream. */
async function readNothing(address: string): Promise<Socket> {
  const body = JSON.stringify({ prompt: 'the river', max_tokens: 200, stream: true, temperature: 0 })
  const socket = connect(Number(new URL(address).port), '127.0.0.1').pause()
  socket.on('error', () => undefined)
  socket.write(
    `POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await once(socket, 'connect')
  return socket
}

function answerChecks(outcomes: readonly Outcome[], clients: number): Check[] {
  const most = outcomes.length
  const wrong = outcomes.flatMap(({ wrong = [] }) => wrong)
  const refused = outcomes.filter(({ end }) => end === 'status 429').length
  return [
    ...wrong.map((what) => ({ what, holds: false })),
    ...(wrong.length > 0
      ? []
      : [{ what: `${most} requests get the same answers as alone, or are aborted`, holds: true }]),
    {
      what: `only a full server rejects requests (${refused} of ${most})`,
      holds: refused <= most - clients + 1,
    },
  ]
}
