// Starts the workers of a group of shards, links them to each other, and sends them requests.
import { HalfbyteError } from '../../base/errors.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import type { ComputePort } from '../host.ts'
import { diedError, disposedError } from '../pool.ts'
import type { BlockRequest, ShardLayout, ShardReply, ShardRequest, StateCommand } from './shard-messages.ts'
import type { Floats } from './shard-run.ts'

/** Workers start in 0.1 s, more slowly on a phone under load. A worker that fails silently never answers. */
const TIMEOUT_MS = 15_000
/** Number of rounds in a measurement. In the first ones, the code is still slow. */
const MEETINGS = 41

interface ShardGroupOptions {
  readonly module: WebAssembly.Module
  readonly startWorker: () => ComputePort
  /** How long a worker may take to start or to answer. Default: 15 s. */
  readonly timeoutMs?: number | undefined
}

interface Member {
  readonly port: ComputePort
  /** The port from the first shard to this one. */
  readonly link: MessagePort
  /** Pending requests, in order. */
  readonly asked: { resolve: (reply: ShardReply) => void; reject: (error: unknown) => void }[]
}

/** The first shard's interface to the others. Shard s is worker s - 1. */
export class ShardGroup {
  /** Called once when a worker dies. */
  onDeath: ((error: HalfbyteError) => void) | undefined
  /** Called with rows that arrive through the links. */
  onFloats: ((shard: number, floats: Floats) => void) | undefined
  readonly #timeoutMs: number
  readonly #members: Member[] = []
  /** The reason, once the group has ended. */
  #ended: HalfbyteError | undefined

  private constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** Starts all shards except the first. Throws `internal` if a worker cannot be started. */
  static async start(shards: number, options: ShardGroupOptions): Promise<ShardGroup> {
    const group = new ShardGroup(options.timeoutMs ?? TIMEOUT_MS)
    try {
      await group.#start(shards, options)
    } catch (error) {
      group.dispose()
      throw error
    }
    return group
  }

  /** Number of shards, including the first. */
  get shards(): number {
    return this.#members.length + 1
  }

  /** Ends all shards but the first `shards`. */
  keep(shards: number): void {
    for (const member of this.#members.splice(shards - 1)) end(member)
  }

  /** Speeds of shards 1 to `shards` - 1 while all of them work, in bytes of weights per ms. */
  async measure(shards: number, ms: number): Promise<number[]> {
    const others = Array.from({ length: shards - 1 }, (_, index) =>
      this.#ask(index + 1, { type: 'measure', ms }),
    )
    return (await Promise.all(others)).map((reply) => (reply.type === 'done' ? (reply.rate ?? 0) : 0))
  }

  /** Milliseconds to send rows of `width` values to the first `shards` shards: half a median round trip. */
  async meet(shards: number, width: number, now: () => number): Promise<number> {
    const rows = Array.from({ length: shards - 1 }, () => new Float32Array(width))
    const times: number[] = []
    for (let round = 0; round < MEETINGS; round++) {
      const start = now()
      const hears = this.#members[0]!
      let missing = rows.length
      this.onFloats = (shard, floats) => {
        rows[shard - 1] = floats
        if (--missing === 0) this.#answered(hears, { type: 'done' })
      }
      const met = this.#reply(hears)
      for (const [index, each] of rows.entries()) this.send(index + 1, each)
      await met
      times.push(now() - start)
    }
    this.onFloats = undefined
    return (times.sort((left, right) => left - right)[MEETINGS >> 1] ?? 0) / 2
  }

  /**
   * Gives the shards their plans. `plans[0]` is the first shard's own. Throws `out-of-memory` and `internal`.
   */
  async place(plans: readonly Plan[], layout: ShardLayout): Promise<void> {
    const others = plans.slice(1)
    await Promise.all(others.map((plan, index) => this.#ask(index + 1, { type: 'plan', plan, layout })))
  }

  /** Writes to a weight slot of a shard and waits for completion. `bytes` is transferred. */
  async fill(shard: number, slot: number, offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#ask(shard, { type: 'weights', slot, offset, bytes }, [bytes.buffer])
  }

  /**
   * Reads a shard's part of a block or, with `bytes`, writes it; `bytes` is transferred. Keeps the order of
   * steps.
   */
  async block(shard: number, request: BlockRequest): Promise<Uint8Array> {
    const { bytes } = request
    const transfer = bytes === undefined ? [] : [bytes.buffer]
    const reply = await this.#ask(shard, request, transfer)
    return (reply.type === 'done' && reply.bytes) || new Uint8Array()
  }

  // hot
  send(shard: number, floats: Floats): void {
    this.#members[shard - 1]!.link.postMessage(floats, [floats.buffer])
  }

  /** Sends a step, or another change of the state cache, to all other shards. */
  tell(command: Uint32Array<ArrayBuffer> | StateCommand): void {
    for (const { link } of this.#members) link.postMessage(command)
  }

  /** Ends the workers. */
  dispose(reason: HalfbyteError = disposedError()): void {
    if (this.#ended) return
    this.#ended = reason
    for (const member of this.#members) {
      end(member)
      for (const { reject } of member.asked.splice(0)) reject(reason)
    }
  }

  async #start(shards: number, { module, startWorker }: ShardGroupOptions): Promise<void> {
    // links[a][b] is the port from a to b. A shard has no port to itself.
    const links: MessagePort[][] = Array.from({ length: shards }, () => [])
    for (let a = 0; a < shards; a++) {
      for (let b = a + 1; b < shards; b++) {
        const { port1, port2 } = new MessageChannel()
        links[a]![b] = port1
        links[b]![a] = port2
      }
    }
    const started = Array.from({ length: shards - 1 }, (_, index) => {
      const shard = index + 1
      const link = links[0]![shard]!
      link.onmessage = ({ data }: MessageEvent<Floats>) => this.onFloats?.(shard, data)
      const own = links[shard]!
      const member: Member = { port: startWorker(), link, asked: [] }
      this.#members.push(member)
      member.port.onMessage((reply) => this.#answered(member, reply as ShardReply))
      member.port.onError((error) => {
        if (this.#members.includes(member)) this.#die(diedError(error.message))
      })
      return this.#ask(shard, { type: 'shard', module, shard, links: own }, Object.values(own))
    })
    await Promise.all(started)
  }

  #ask(
    shard: number,
    request: ShardRequest | BlockRequest,
    transfer: Transferable[] = [],
  ): Promise<ShardReply> {
    const member = this.#members[shard - 1]!
    const reply = this.#reply(member)
    if (this.#ended) return reply
    if (request.type === 'block') member.link.postMessage(request, transfer)
    else member.port.postMessage(request, transfer)
    return reply
  }

  /** The next reply of a member. Replies arrive in the order of the requests. */
  #reply(member: Member): Promise<ShardReply> {
    if (this.#ended) return Promise.reject(this.#ended)
    const late = () => this.#die(diedError(`it did not answer within ${this.#timeoutMs} ms`))
    const timer = setTimeout(late, this.#timeoutMs)
    return new Promise<ShardReply>((resolve, reject) => {
      member.asked.push({ resolve, reject })
    }).finally(() => clearTimeout(timer))
  }

  #answered(member: Member, reply: ShardReply): void {
    if (reply.type === 'failed') this.#die(failure(reply))
    else member.asked.shift()?.resolve(reply)
  }

  #die(error: HalfbyteError): void {
    if (this.#ended) return
    this.dispose(error)
    this.onDeath?.(error)
  }
}

function failure({ message, code, detail }: Extract<ShardReply, { type: 'failed' }>): HalfbyteError {
  return code === 'out-of-memory' ? new HalfbyteError(code, message, detail) : diedError(message)
}

function end({ port, link }: Member): void {
  link.onmessage = null
  link.close()
  port.terminate()
}
