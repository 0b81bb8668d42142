// Finds the longest prefix of a list of tokens whose state is stored.
import { ABI } from '../abi/constants.ts'
import type { Ptr } from '../runtime/memory/arena.ts'
import type { BlockPool } from './block-pool.ts'
import type { Checkpoint, Checkpoints } from './state-slabs.ts'

const { BLOCK_POSITIONS } = ABI

/** Up to 64 tokens and their state. */
export interface TokenRun {
  readonly ids: readonly number[]
  /** Per group. Absent if a window has dropped the block. */
  readonly blocks: readonly (Ptr | undefined)[]
  readonly checkpoints: readonly Checkpoint[]
}

/** A prefix of a list of tokens whose state is stored. */
export interface Prefix {
  readonly tokens: number
  /** In order. All but the last have 64 tokens. */
  readonly runs: readonly TokenRun[]
  /** The recurrent state there. Absent for models without recurrent layers. */
  readonly checkpoint: Checkpoint | undefined
}

/** A possible end of a match: inside `run`, after the first `depth` runs of the path. */
interface End {
  readonly depth: number
  readonly run: TokenRun
  readonly tokens: number
}

/** The end of a sequence that is not yet in the tree. It continues from `anchor`. */
export interface Tail {
  readonly anchor: TreeNode | undefined
  tail(): TokenRun | undefined
}

/**
 * The tokens of one block. Its children are the blocks that follow. Only leaves have fewer than 64 tokens.
 */
export class TreeNode implements TokenRun {
  ids: readonly number[]
  readonly parent: TreeNode | undefined
  readonly children: TreeNode[] = []
  readonly blocks: (Ptr | undefined)[]
  readonly checkpoints: Checkpoint[] = []
  /** When its blocks in groups with a window were last used. A window reads only the end of a path. */
  used = 0
  /** When its blocks of groups with a window were last used. A window reads only the end of a path. */
  windowUsed = 0
  /** True once the node is no longer in the tree. */
  isGone = false

  constructor(ids: readonly number[], parent: TreeNode | undefined, groups: number) {
    this.ids = ids
    this.parent = parent
    this.blocks = Array.from({ length: groups }, () => undefined)
  }
}

interface TokenTreeOptions {
  /** One per group of keys and values. */
  readonly pools: readonly BlockPool[]
  /** Positions that each group attends to. 0: all. */
  readonly windows: readonly number[]
  readonly checkpoints: Checkpoints
  /** True if there is recurrent state; a sequence can then continue only from a checkpoint. */
  readonly isRecurrent: boolean
}

/**
 * A radix tree over whole blocks of token ids, shared by all sequences. It holds a reference to each of its
 * blocks, so nobody writes to them. When memory is needed, it evicts blocks that no sequence holds, least
 * recently used first.
 */
export class TokenTree {
  readonly root: TreeNode
  readonly #options: TokenTreeOptions
  #clock = 0

  constructor(options: TokenTreeOptions) {
    this.#options = options
    this.root = new TreeNode([], undefined, 0)
  }

  /** Bytes of the blocks that only the tree holds. */
  get retainedBytes(): number {
    let bytes = 0
    for (const node of this.nodes) {
      for (const [group, pool] of this.#options.pools.entries()) {
        if (this.#isOnlyHere(node, group)) bytes += pool.blockBytes
      }
    }
    return bytes
  }

  /** Every node except the root, parents before their children. */
  get nodes(): readonly TreeNode[] {
    const found = [...this.root.children]
    for (let index = 0; index < found.length; index++) found.push(...found[index]!.children)
    return found
  }

  /**
   * Inserts `run` below `node` and returns the node for it. An existing node keeps its own blocks. A run of
   * fewer than 64 tokens may become part of a longer one.
   */
  extend(node: TreeNode, run: TokenRun): TreeNode {
    const child = this.#childFor(node, run)
    this.#fill(child, run)
    child.used = child.windowUsed = ++this.#clock
    return child
  }

  /** The longest prefix of `ids`, with at most `most` tokens, from which a sequence can continue. */
  match(ids: ArrayLike<number>, most: number, tails: Iterable<Tail>): Prefix | undefined {
    const path: TokenRun[] = []
    const ends: End[] = []
    let node: TreeNode | undefined = this.root
    while (node !== undefined) {
      const start = path.length * BLOCK_POSITIONS
      let next: TreeNode | undefined
      for (const run of candidates(node, tails)) {
        const length = commonLength(run.ids, ids, start, most)
        if (length > 0) ends.push({ depth: path.length, run, tokens: start + length })
        if (length === BLOCK_POSITIONS && run instanceof TreeNode) next = run
      }
      node = next
      if (node !== undefined) path.push(node)
    }
    const prefix = this.#best(path, ends)
    if (prefix !== undefined) this.#touch(prefix)
    return prefix
  }

  /** Evicts the least recently used state that only the tree holds. Returns false if there is none. */
  evict(): boolean {
    let oldest: TreeNode | undefined
    let age = Number.POSITIVE_INFINITY
    let isWhole = false
    for (const node of this.nodes) {
      const isLeaf = node.children.length === 0
      const used = isLeaf ? node.used : node.windowUsed
      if (used >= age || !this.#frees(node, !isLeaf)) continue
      oldest = node
      age = used
      isWhole = isLeaf
    }
    if (oldest === undefined) return false
    if (isWhole) this.#remove(oldest)
    else this.#dropBlocks(oldest, true)
    return true
  }

  /**
   * Drops empty nodes, then the least recently used ones, until at most `bytes` are held only by the
   * tree.
   */
  shrink(bytes: number): void {
    for (const node of this.nodes.toReversed()) {
      if (node.children.length === 0 && this.#isEmpty(node)) this.#remove(node)
    }
    while (this.retainedBytes > bytes && this.evict());
  }

  /** Drops everything. */
  clear(): void {
    for (const node of this.nodes.toReversed()) this.#remove(node)
  }

  /** The first block that group `group` needs to continue after `tokens`. */
  firstNeeded(group: number, tokens: number): number {
    return Math.floor(this.firstSeen(group, tokens) / BLOCK_POSITIONS)
  }

  /** The first position that group `group` attends to after `tokens`. */
  firstSeen(group: number, tokens: number): number {
    const window = this.#options.windows[group] ?? 0
    return window === 0 ? 0 : Math.max(0, tokens - window + 1)
  }

  #childFor(node: TreeNode, run: TokenRun): TreeNode {
    for (const child of node.children) {
      const common = commonLength(child.ids, run.ids, 0, run.ids.length)
      if (common === run.ids.length) return child
      if (common < child.ids.length) continue
      this.#dropBlocks(child)
      child.ids = [...run.ids]
      return child
    }
    const fresh = new TreeNode([...run.ids], node, this.#options.pools.length)
    node.children.push(fresh)
    return fresh
  }

  #fill(node: TreeNode, run: TokenRun): void {
    const { pools, checkpoints } = this.#options
    // This is part of a longer run, whose blocks already have these positions.
    if (node.ids.length === run.ids.length) {
      for (const [group, pool] of pools.entries()) {
        const block = run.blocks[group]
        if (block === undefined || node.blocks[group] !== undefined) continue
        pool.share(block)
        node.blocks[group] = block
      }
    }
    const kept = node.checkpoints.filter((checkpoint) => checkpoints.isKept(checkpoint))
    for (const checkpoint of run.checkpoints) {
      if (kept.some(({ position }) => position === checkpoint.position)) continue
      if (!checkpoints.isKept(checkpoint)) continue
      checkpoints.hold(checkpoint)
      kept.push(checkpoint)
    }
    node.checkpoints.splice(0, node.checkpoints.length, ...kept)
  }

  #best(path: readonly TokenRun[], ends: End[]): Prefix | undefined {
    let best: Prefix | undefined
    for (const { depth, run, tokens } of ends.sort((a, b) => b.tokens - a.tokens)) {
      if (tokens <= (best?.tokens ?? 0)) break
      const prefix = this.#usable([...path.slice(0, depth), run], tokens)
      if (prefix !== undefined && prefix.tokens > (best?.tokens ?? 0)) best = prefix
    }
    return best
  }

  /** The longest prefix of `runs` from which a sequence can continue. */
  #usable(runs: readonly TokenRun[], tokens: number): Prefix | undefined {
    const { isRecurrent, checkpoints } = this.#options
    const prefix = (count: number, checkpoint?: Checkpoint): Prefix => ({
      tokens: count,
      runs: runs.slice(0, Math.ceil(count / BLOCK_POSITIONS)),
      checkpoint,
    })
    if (isRecurrent) {
      const stored = runs
        .flatMap((run) => run.checkpoints)
        .filter((checkpoint) => checkpoint.position <= tokens && checkpoints.isKept(checkpoint))
        .sort((a, b) => b.position - a.position)
      const last = stored.find(({ position }) => this.#missing(runs, position) === undefined)
      return last && prefix(last.position, last)
    }
    let count = tokens
    for (;;) {
      if (count === 0) return undefined
      const missing = this.#missing(runs, count)
      if (missing === undefined) return prefix(count)
      count = missing * BLOCK_POSITIONS
    }
  }

  /** Index of the first run that lacks a block needed to continue after `tokens`. */
  #missing(runs: readonly TokenRun[], tokens: number): number | undefined {
    const end = Math.ceil(tokens / BLOCK_POSITIONS)
    let missing: number | undefined
    for (const group of this.#options.pools.keys()) {
      for (let index = this.firstNeeded(group, tokens); index < Math.min(end, missing ?? end); index++) {
        if (runs[index]?.blocks[group] === undefined) missing = index
      }
    }
    return missing
  }

  #touch({ runs, tokens }: Prefix): void {
    const now = ++this.#clock
    const window = Math.min(
      ...this.#options.windows.map((size, group) =>
        size === 0 ? runs.length : this.firstNeeded(group, tokens),
      ),
    )
    for (const [index, run] of runs.entries()) {
      if (!(run instanceof TreeNode)) continue
      run.used = now
      if (index >= window) run.windowUsed = now
    }
  }

  #isOnlyHere(node: TreeNode, group: number): boolean {
    const block = node.blocks[group]
    return block !== undefined && this.#options.pools[group]!.references(block) === 1
  }

  /** Whether dropping the node's blocks, or only those in windows, would free memory. */
  #frees(node: TreeNode, ofWindows: boolean): boolean {
    const { windows } = this.#options
    return node.blocks.some(
      (_, group) => (!ofWindows || windows[group]! > 0) && this.#isOnlyHere(node, group),
    )
  }

  #isEmpty(node: TreeNode): boolean {
    const { checkpoints } = this.#options
    return (
      node.blocks.every((block) => block === undefined) &&
      !node.checkpoints.some((checkpoint) => checkpoints.isKept(checkpoint))
    )
  }

  #dropBlocks(node: TreeNode, ofWindows = false): void {
    const { pools, windows } = this.#options
    for (const [group, pool] of pools.entries()) {
      if (ofWindows && windows[group] === 0) continue
      const block = node.blocks[group]
      if (block !== undefined) pool.drop(block)
      node.blocks[group] = undefined
    }
  }

  #remove(node: TreeNode): void {
    node.isGone = true
    this.#dropBlocks(node)
    for (const checkpoint of node.checkpoints.splice(0)) this.#options.checkpoints.drop(checkpoint)
    const siblings = node.parent?.children
    siblings?.splice(siblings.indexOf(node), 1)
  }
}

function* candidates(node: TreeNode, tails: Iterable<Tail>): Generator<TokenRun> {
  yield* node.children
  for (const tail of tails) {
    const run = tail.anchor === node ? tail.tail() : undefined
    if (run !== undefined) yield run
  }
}

/** How many tokens `run` shares with `ids`, starting at `start` and ending before index `most`. */
function commonLength(run: readonly number[], ids: ArrayLike<number>, start: number, most: number): number {
  const end = Math.min(run.length, Math.min(most, ids.length) - start)
  let length = 0
  while (length < end && run[length] === ids[start + length]) length++
  return length
}
