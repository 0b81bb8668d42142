// Mirrored blocks. In: blocks of the first shard's state cache, by address. Out: this shard's part of each,
// in its memory.
import type { Arena, Ptr } from '../memory/arena.ts'
import type { KvPosition, KvShift } from '../memory/kv-shift.ts'
import type { BlockRun, ShardReply, StateCommand } from './messages.ts'

/**
 * The first shard decides which block holds which positions. A block here stands for the same block there for
 * ever, as the first shard's pools never give memory back. It is allocated when it is first named.
 */
export class MirroredBlocks {
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
   * The address of this shard's part. Throws `out-of-memory` when a new block does not fit. 0 means no block,
   * here too.
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
        const [from, to] = [this.addressOf(group, command.from), this.addressOf(group, command.to)]
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
        const [from, to] = [
          this.#positionOf(command, command.from, 0),
          this.#positionOf(command, command.to, 1),
        ]
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
