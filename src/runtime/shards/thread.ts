// Shard thread. In: a shard's messages. Out: its part of every step, in a memory of its own.
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../base/errors.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { Arena, type Ptr } from '../memory/arena.ts'
import { KvShift } from '../memory/kv-shift.ts'
import { createMemory } from '../memory/memory.ts'
import { type EngineExports, instantiateEngine } from '../module.ts'
import { SinglePool } from '../single.ts'
import { writePlan } from '../write-plan.ts'
import { measureRate } from './measure.ts'
import type { ShardLayout, ShardReply, ShardRequest, StateCommand } from './messages.ts'
import { MirroredBlocks } from './mirrored-blocks.ts'
import { type Floats, ShardRun } from './run.ts'
import { StepMirror, stateTables } from './step-mirror.ts'

type StartRequest = Extract<ShardRequest, { type: 'shard' }>
type Command = Uint32Array | StateCommand

/** Handles the requests to a shard's worker. `post` sends replies to the first shard. */
export function shardThread(post: (reply: ShardReply) => void): (request: ShardRequest) => void {
  let shard: Shard | undefined
  const guarded = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      const { code, detail }: Partial<HalfbyteError> = isHalfbyteError(error) ? error : {}
      post({ type: 'failed', message: reasonOf(error), code, detail })
    }
  }
  return (request) =>
    guarded(() => {
      if (request.type === 'shard') shard = new Shard(request, guarded, post)
      else if (shard === undefined) throw new Error(`${request.type} came before shard`)
      if (request.type === 'measure') post({ type: 'done', rate: shard.measure(request.ms) })
      else {
        if (request.type === 'plan') shard.place(request.plan, request.layout)
        if (request.type === 'weights') shard.fill(request)
        post({ type: 'done' })
      }
    })
}

/** A plan and its state in a shard's memory. */
interface Placed {
  readonly slots: readonly Ptr[]
  readonly run: ShardRun
  readonly mirror: StepMirror
  readonly blocks: MirroredBlocks
}

class Shard {
  readonly #start: StartRequest
  readonly #post: (reply: ShardReply) => void
  readonly #engine: EngineExports
  readonly #arena: Arena
  #placed: Placed | undefined
  /** Commands that arrived while a step was running, in order. */
  readonly #waiting: Command[] = []
  #isRunning = false

  constructor(start: StartRequest, guarded: (work: () => void) => void, post: (reply: ShardReply) => void) {
    this.#start = start
    this.#post = post
    const memory = createMemory('plain', 0)
    this.#engine = instantiateEngine(start.module, memory)
    this.#arena = new Arena(memory, Number(this.#engine.__heap_base.value))
    for (const [other, link] of start.links.entries()) {
      if (link === undefined) continue
      link.onmessage = ({ data }: MessageEvent<Command | Floats>) =>
        guarded(() => {
          if (!(data instanceof Float32Array)) this.#obey(data)
          else if (this.#placed === undefined) link.postMessage(data, [data.buffer])
          else this.#placed.run.receive(other, data)
        })
    }
  }

  measure(ms: number): number {
    return measureRate(this.#engine, this.#arena, ms)
  }

  /** Allocates memory for the plan and its state. Throws `out-of-memory`. */
  place(plan: Plan, layout: ShardLayout): void {
    const arena = this.#arena
    const slots = plan.slots.map(({ bytes }) => arena.allocate(bytes, 'the weights'))
    const written = writePlan(arena, plan, slots)
    const { links, shard } = this.#start
    const mirror = new StepMirror(arena, { ...plan, ...layout, ...stateTables(plan) })
    const ropes = layout.ropes.map(({ frequencies }) => frequencies)
    const shift = new KvShift({ pool: new SinglePool(this.#engine, arena), arena, plan, slots, ropes })
    const sizes = plan.pools.map(({ bytes }) => bytes)
    const blocks = new MirroredBlocks(arena, sizes, layout.tableWords, shift)
    const run = new ShardRun({
      ...{ engine: this.#engine, arena, plan, written, shard, shards: layout.shards },
      send: (other, floats) => links[other]!.postMessage(floats, [floats.buffer]),
    })
    this.#placed = { slots, run, mirror, blocks }
  }

  fill({ slot, offset, bytes }: Extract<ShardRequest, { type: 'weights' }>): void {
    const address = this.#ready().slots[slot]
    if (address === undefined) throw new HalfbyteError('internal', `there is no weight ${slot}`)
    this.#arena.u8.set(bytes, address + offset)
  }

  #ready(): Placed {
    if (this.#placed !== undefined) return this.#placed
    throw new HalfbyteError('internal', 'a worker was used before it had a plan')
  }

  // hot
  #obey(command: Command): void {
    if (this.#isRunning) {
      this.#waiting.push(command)
      return
    }
    const { blocks, mirror, run } = this.#ready()
    if (!(command instanceof Uint32Array)) {
      const reply = blocks.obey(command)
      if (reply !== undefined) this.#post(reply)
      return
    }
    this.#isRunning = true
    mirror.write(command, blocks.addressOf)
    run.start(mirror.step, command[0]!, command[1]!, this.#ended)
  }

  readonly #ended = (): void => {
    this.#isRunning = false
    while (!this.#isRunning && this.#waiting.length > 0) this.#obey(this.#waiting.shift() as Command)
  }
}
