// Puts the tokens and blocks of one sequence into the token tree, where other sequences can use them.
import { ABI } from '../abi/constants.ts'
import type { BlockTable } from './block-table.ts'
import type { StateSlabs } from './state-slabs.ts'
import type { Tail, TokenRun, TokenTree, TreeNode } from './token-tree.ts'

const { BLOCK_POSITIONS } = ABI

/**
 * The sequence of a path. The path reads it, and changes its tables only to replace blocks with equal ones
 * from the tree.
 */
export interface PathSource {
  /** Number of stored positions. */
  readonly length: number
  readonly tables: readonly BlockTable[]
  readonly slabs: StateSlabs
}

export class SharedPath implements Tail {
  readonly #tree: TokenTree
  readonly #source: PathSource
  readonly #tokens: readonly number[]
  #anchor: TreeNode
  /** Number of blocks from the root to the anchor. */
  #depth = 0
  /**
   * From this position on, positions have been moved, so their state no longer follows from the preceding
   * tokens.
   */
  #end = Number.POSITIVE_INFINITY

  /**
   * `tokens`: the tokens at the positions of `source`. Positions without a token, such as drafts, are not
   * shared.
   */
  constructor(tree: TokenTree, source: PathSource, tokens: readonly number[]) {
    this.#tree = tree
    this.#source = source
    this.#tokens = tokens
    this.#anchor = tree.root
  }

  get anchor(): TreeNode {
    return this.#anchor
  }

  /** The first moved position. Absent if there are none. */
  get end(): number | undefined {
    return Number.isFinite(this.#end) ? this.#end : undefined
  }

  /** Puts whole blocks into the token tree. Blocks that the tree already has replace the sequence's own. */
  share(): void {
    if (this.#anchor.isGone) {
      this.#anchor = this.#tree.root
      this.#depth = 0
    }
    const { slabs, tables, length } = this.#source
    // With recurrent state, other sequences can use the state only up to a checkpoint.
    const usable = slabs.areUsed ? (slabs.checkpoints.at(-1)?.position ?? 0) : length
    const end = Math.min(usable, this.#known)
    while ((this.#depth + 1) * BLOCK_POSITIONS <= end) {
      this.#anchor = this.#tree.extend(this.#anchor, this.#run(BLOCK_POSITIONS))
      for (const [group, table] of tables.entries()) {
        // The same tokens at the same positions have the same bytes, so one copy is enough.
        const block = this.#anchor.blocks[group]
        if (block !== undefined && table.validFrom <= this.#depth * BLOCK_POSITIONS)
          table.share(this.#depth, block)
      }
      this.#depth++
    }
  }

  tail(): TokenRun | undefined {
    const rest = Math.min(this.#known - this.#depth * BLOCK_POSITIONS, BLOCK_POSITIONS)
    return rest > 0 ? this.#run(rest) : undefined
  }

  /** Adds all positions with known tokens to the token tree, before the sequence drops some of them. */
  keep(): void {
    this.share()
    const tail = this.tail()
    if (tail !== undefined) this.#tree.extend(this.#anchor, tail)
  }

  /** Forgets the positions from `kept` on. */
  trim(kept: number): void {
    while (this.#depth * BLOCK_POSITIONS > kept) {
      this.#depth--
      this.#anchor = this.#anchor.parent ?? this.#anchor
    }
    if (kept <= this.#end) this.#end = Number.POSITIVE_INFINITY
  }

  /** Records that positions from `kept` on have been moved. */
  stopAt(kept: number): void {
    const end = Math.min(this.#end, kept)
    this.trim(kept)
    this.#end = end
  }

  /** Takes over the path of the sequence from which this one was forked. */
  follow(other: SharedPath): void {
    this.#anchor = other.#anchor
    this.#depth = other.#depth
    this.#end = other.#end
  }

  /** Number of stored positions whose tokens are known. */
  get #known(): number {
    return Math.min(this.#source.length, this.#tokens.length, this.#end)
  }

  /** The `length` positions after the anchor. */
  #run(length: number): TokenRun {
    const start = this.#depth * BLOCK_POSITIONS
    return {
      ids: this.#tokens.slice(start, start + length),
      blocks: this.#source.tables.map((table) =>
        table.validFrom <= start ? table.at(this.#depth) : undefined,
      ),
      checkpoints: this.#source.slabs.checkpoints.filter(
        ({ position }) => position > start && position <= start + length,
      ),
    }
  }
}
