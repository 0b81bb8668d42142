// Operations on a whole row of logits in linear memory, such as finding and sorting its best ids.

import { roundUp } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Arena, Ptr } from '../../runtime/memory/arena.ts'
import type { LogitExports } from '../../runtime/module.ts'

/**
 * The kernels that read all logits [vocab] of a row, with the memory they need. All samplers of an engine
 * share one instance, one at a time. Ids at -Infinity are banned: they do not count in sums and are never
 * among the best.
 */
export interface LogitRows {
  readonly vocab: number
  /** The result of `top`, best first; among equals, the lower id first. Valid until the next `top`. */
  readonly ids: Uint32Array
  readonly logits: Float32Array
  /** The result of `weigh`. */
  readonly weights: Float32Array
  /**
   * Allocates memory for `top` to find `most` ids, and for `keep` if `keeps` is set. Memory may grow, so all
   * views of it, including rows, must be recreated. Throws `out-of-memory`.
   */
  reserve(most: number, keeps?: boolean): void
  /**
   * Finds up to `most` of the best ids at or above `least`; returns their number. Throws `integrity` on NaN
   * or +Infinity.
   */
  top(row: Float32Array, most: number, least: number): number
  /** Writes e^((logit - best) * scale) for the first `count` results of `top`; returns their sum. */
  weigh(count: number, scale: number): number
  /** Like `weigh`, but returns the sum over every logit at or above `least`; `best` is the largest logit. */
  sumExp(row: Float32Array, best: number, scale: number, least: number): number
  /** The largest logit minus `sigmas` standard deviations of all logits. */
  floorOf(row: Float32Array, sigmas: number): number
  /** row = guide + scale * (row - guide) */
  guide(row: Float32Array, guide: Float32Array, scale: number): void
  /** Bans the ids whose bit is 0: bit id % 32 of word id >> 5. */
  mask(row: Float32Array, words: Uint32Array): void
  /** A copy that is valid until the next one. Its memory must have been reserved. */
  keep(row: Float32Array): Float32Array
  /** Zeros [vocab] for counting ids. Users must restore the zeros. */
  readonly tally: Uint32Array
}

/** Minimum number of candidates to allocate memory for; more than any typical top-k. */
const FEW = 256
/**
 * Constants of wasm/sampling/topk.c: logits per chunk, groups per chunk, and ids that may be collected per
 * candidate.
 */
const CHUNK = 64
const GROUPS = 4
const GATHERED = 17
const NOT_A_NUMBER = 0xffffffff
/** Number of f64 values that `logits_spread` writes. */
const SUMS = 4
const PURPOSE = 'the sampler'

export class KernelRows implements LogitRows {
  readonly vocab: number
  ids: Uint32Array = new Uint32Array()
  logits: Float32Array = new Float32Array()
  weights: Float32Array = new Float32Array()
  readonly #kernels: LogitExports
  readonly #arena: Arena
  readonly #maxima: Ptr
  readonly #file: string | undefined
  readonly #words: Ptr
  readonly #sums: Ptr
  #work: Ptr
  #weights: Ptr
  #kept: Ptr | undefined
  /** Number of candidates that `top` can find. */
  #most = 0
  /** Number of ids that `top` can collect while finding the candidates. */
  #room = 0
  #spread = new Float64Array()
  #copy = new Float32Array()
  #tally: Uint32Array | undefined

  /** `file`: the model's file, for errors. Throws `out-of-memory`. */
  constructor(kernels: LogitExports, arena: Arena, vocab: number, file?: string) {
    this.vocab = vocab
    this.#file = file
    this.#kernels = kernels
    this.#arena = arena
    this.#maxima = arena.allocate(Math.ceil(vocab / CHUNK) * GROUPS * 4, PURPOSE)
    this.#words = arena.allocate(Math.ceil(vocab / 32) * 4, PURPOSE)
    this.#sums = arena.allocate(SUMS * 8, PURPOSE)
    this.#work = this.#maxima
    this.#weights = this.#maxima
    this.reserve(FEW)
  }

  get tally(): Uint32Array {
    this.#tally ??= new Uint32Array(this.vocab)
    return this.#tally
  }

  reserve(wanted: number, keeps = false): void {
    const most = Math.min(wanted, this.vocab)
    if (most > this.#most) {
      const room = roundUp(Math.min(this.vocab, GATHERED * most), 4)
      const work = this.#arena.allocate(room * 16, PURPOSE)
      this.#weights = this.#arena.allocate(roundUp(most, 4) * 4, PURPOSE)
      this.#work = work
      this.#room = room
      this.#most = most
    }
    if (keeps) this.#kept ??= this.#arena.allocate(this.vocab * 4, PURPOSE)
    this.#look()
  }

  // hot
  top(row: Float32Array, most: number, least: number): number {
    const at = this.#addressOf(row)
    if (this.logits.buffer !== row.buffer) this.#look()
    const kernels = this.#kernels
    const found = kernels.logits_top(at, this.vocab, most, least, this.#maxima, this.#work, this.#room) >>> 0
    if (found === NOT_A_NUMBER || (found > 0 && this.logits[0] === Number.POSITIVE_INFINITY)) {
      throw brokenLogit(row, this.#file)
    }
    return found
  }

  weigh(count: number, scale: number): number {
    return this.#kernels.logits_weigh(this.#work, count, scale, this.#weights)
  }

  sumExp(row: Float32Array, best: number, scale: number, least: number): number {
    return this.#kernels.logits_sum_exp(this.#addressOf(row), this.vocab, best, scale, least)
  }

  floorOf(row: Float32Array, sigmas: number): number {
    this.#kernels.logits_spread(this.#addressOf(row), this.vocab, this.#sums)
    if (this.#spread.buffer !== row.buffer) this.#look()
    const sums = this.#spread
    return sigmaFloor(sums[0]!, sums[1]!, sums[2]!, sums[3]!, sigmas)
  }

  guide(row: Float32Array, guide: Float32Array, scale: number): void {
    this.#kernels.logits_guide(this.#addressOf(row), this.#addressOf(guide), this.vocab, scale)
  }

  mask(row: Float32Array, words: Uint32Array): void {
    checkMask(words, this.vocab)
    this.#arena.u32.set(words, this.#words / 4)
    this.#kernels.logits_mask(this.#addressOf(row), this.#words, this.vocab)
  }

  keep(row: Float32Array): Float32Array {
    if (this.#copy.buffer !== row.buffer) this.#look()
    this.#copy.set(row)
    return this.#copy
  }

  #addressOf(row: Float32Array): number {
    if (row.buffer === this.#arena.memory.buffer && row.length === this.vocab) return row.byteOffset
    throw new HalfbyteError(
      'internal',
      `a row of ${row.length} logits was given but the sampler takes ${this.vocab} in the engine's memory; report this`,
    )
  }

  /** Recreates the views, because growth detaches views of plain memory. */
  #look(): void {
    const { buffer } = this.#arena.memory
    this.logits = new Float32Array(buffer, this.#work, this.#most)
    this.ids = new Uint32Array(buffer, this.#work + this.#room * 4, this.#most)
    this.weights = new Float32Array(buffer, this.#weights, this.#most)
    this.#spread = new Float64Array(buffer, this.#sums, SUMS)
    this.#copy = new Float32Array(buffer, this.#kept ?? 0, this.#kept === undefined ? 0 : this.vocab)
  }
}

export function checkMask(words: Uint32Array, vocab: number): void {
  if (words.length === Math.ceil(vocab / 32)) return
  throw new HalfbyteError(
    'internal',
    `a mask has ${words.length} words but ${vocab} ids need ${Math.ceil(vocab / 32)}; report this`,
  )
}

/**
 * The largest minus `sigmas` population standard deviations, from the count, the sum and the sum of squares.
 */
export function sigmaFloor(
  most: number,
  count: number,
  sum: number,
  squares: number,
  sigmas: number,
): number {
  const mean = sum / count
  return most - sigmas * Math.sqrt(Math.max(0, squares / count - mean * mean))
}

/**
 * Names the invalid logit. Kernels turn finite inputs into finite outputs, so the weights must be damaged.
 */
export function brokenLogit(row: Float32Array, file = 'the model'): HalfbyteError {
  const id = row.findIndex((logit) => !(logit < Number.POSITIVE_INFINITY))
  const logit = String(row[id])
  return new HalfbyteError(
    'integrity',
    `${file}: the logit of id ${id} is ${logit}, so its weights are corrupt; remove the stored model and download it again`,
    { file, id, logit },
  )
}
