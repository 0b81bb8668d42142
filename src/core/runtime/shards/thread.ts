// The worker of a shard: computes the shard's part of every step in its own memory.
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../base/errors.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { Arena, type Ptr } from '../memory/arena.ts'
import { type KvPosition, KvShift } from '../memory/kv-shift.ts'
import { createMemory } from '../memory/linear-memory.ts'
import { type EngineExports, instantiateEngine } from '../module.ts'
import { SinglePool } from '../pool.ts'
import { writePlan } from '../write-plan.ts'
import { measureRate } from './choose-shards.ts'
import type { BlockRun, ShardLayout, ShardReply, ShardRequest, StateCommand } from './shard-messages.ts'
import { type Floats, ShardRun } from './shard-run.ts'
import { StepMirror, stateTables } from './step-mirror.ts'

/**
 * The first shard decides which block holds which positions. The mapping between blocks is permanent, because
 * the first shard's pools never free memory. A shard allocates a block when it is first named.
 */
class MirroredBlocks {
  readonly #arena: Arena
  readonly #blockBytes: readonly number[]
  readonly #shift: KvShift
  readonly #addresses: readonly Map<number, Ptr>[]
  /** Block tables for the two sides of a move. */
  readonly #tables: readonly [Ptr, Ptr]

  /** Throws `out-of-memory`. */
  constructor(arena: Arena, blockBytes: readonly number[], tableWords: number, shift: KvShift) {
    this.#arena = arena
    this.#blockBytes = blockBytes
    this.#shift = shift
    this.#addresses = blockBytes.map(() => new Map())
    const table = (): Ptr => arena.allocate(tableWords * 4, 'the block tables')
    this.#tables = [table(), table()]
  }

  // hot
  /**
   * The address of this shard's part. Throws `out-of-memory` if a new block does not fit. As elsewhere, 0
   * means no block.
   */
  readonly addressOf = (group: number, block: number): number => {
    if (block === 0) return 0
    const known = this.#addresses[group]!.get(block)
    if (known !== undefined) return known
    const address = this.#arena.allocate(this.#blockBytes[group]!, 'the state cache')
    this.#addresses[group]!.set(block, address)
    return address
  }

  /** Executes a command. Returns the reply, if the command has one. */
  obey(command: StateCommand): ShardReply | undefined {
    const { group } = command
    switch (command.type) {
      case 'copy': {
        const from = this.addressOf(group, command.from)
        const to = this.addressOf(group, command.to)
        this.#arena.u8.copyWithin(to, from, from + this.#blockBytes[group]!)
        break
      }
      case 'clear': {
        const block = this.addressOf(group, command.block)
        this.#arena.u8.fill(0, block, block + this.#blockBytes[group]!)
        break
      }
      case 'block': {
        const { bytes } = command
        const block = this.addressOf(group, command.block)
        if (bytes === undefined) return { type: 'done', bytes: this.#bytes(block, this.#blockBytes[group]!) }
        this.#arena.u8.set(bytes, block)
        return { type: 'done' }
      }
      case 'move': {
        const from = this.#positionOf(command, command.from, 0)
        const to = this.#positionOf(command, command.to, 1)
        this.#shift.move(from, to, command.count, group)
        break
      }
      default:
        command satisfies never
    }
    return undefined
  }

  #bytes(block: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#arena.u8.subarray(block, block + length))
  }

  #positionOf({ group }: StateCommand, { blocks, position }: BlockRun, side: 0 | 1): KvPosition {
    const table = this.#tables[side]
    for (const [index, block] of blocks.entries()) {
      const address = this.addressOf(group, block)
      this.#arena.u32[table / 4 + index] = address
    }
    return { tables: this.#blockBytes.map(() => table), position }
  }
}

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
      engine: this.#engine,
      arena,
      plan,
      written,
      shard,
      shards: layout.shards,
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
