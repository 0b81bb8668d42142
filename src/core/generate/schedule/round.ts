// Chooses which rows of the pending work the next step runs.
import type { StepCapacity } from '../../runtime/step-descriptor.ts'
import type { RowSource } from './row-source.ts'
import type { StepBuffer } from './step-buffer.ts'
import { CHUNK_MS, ChunkSize, StepCost } from './step-cost.ts'
import { type BareStep, isChosen, type Lane, lacking, type Priority, type Work } from './work.ts'

/** Fraction by which background work may lengthen foreground steps. */
const BACKGROUND_SHARE = 0.05
/**
 * Number of prompt rows for which a step always has space, however long its other rows take. Background work
 * also processes at least this many at once.
 */
const LEAST_ROWS = 8

/**
 * Chooses the rows of each step: one row plus drafts for each sequence that decodes, and as many prompt rows
 * as fit next to them into about 100 ms. Background work joins the steps of foreground work within its share
 * of the time. Work that was passed over moves to the front and has space reserved, so nothing starves.
 */
export class Round {
  readonly cost = new StepCost()
  readonly #capacity: StepCapacity
  readonly #inputs: RowSource
  readonly #chunk: ChunkSize
  readonly #now: () => number
  /** The capacity left in the step being assembled. */
  readonly #left = { rows: 0, prompt: 0, logits: 0, sequences: 0 }
  readonly #step: BareStep = { rows: 0, tokens: 0 }
  /** Number of prompt rows in the step. */
  #promptRows = 0
  /** Milliseconds by which one prompt row slowed recent steps. */
  #promptMs = 0
  /** Milliseconds by which background work may now slow foreground work. */
  #credit = 0
  /** True if the step has foreground work, which limits background work. */
  #isShared = false
  /** Reused by `ran`. */
  readonly #served: Work[] = []

  constructor(
    { capacity, inputs }: Pick<StepBuffer, 'capacity' | 'inputs'>,
    now: () => number,
    isSharedOut: boolean,
  ) {
    this.#capacity = capacity
    this.#inputs = inputs
    this.#chunk = new ChunkSize(capacity.tokens, isSharedOut)
    this.#now = now
  }

  // hot
  /** Sets the rows and drafts of every work in `line`. Changes no state. */
  choose(line: readonly Work[]): void {
    const left = this.#left
    left.rows = this.#capacity.tokens
    left.logits = this.#capacity.logitRows
    left.sequences = this.#capacity.sequences
    left.prompt = 0
    this.#step.rows = 0
    this.#step.tokens = 0
    this.#promptRows = 0
    for (let index = 0; index < line.length; index++) clear(line[index]!)
    this.#isShared = hasRunnable(line, 'foreground')
    const first = this.#isShared ? 'foreground' : 'background'
    const prompt = overdue(line, first, false)
    const starved = this.#isShared && this.#credit >= CHUNK_MS ? overdue(line, 'background', true) : undefined
    this.#keepRoom(prompt, 1)
    this.#keepRoom(starved, 1)
    this.#give(line, first, true)
    const start = this.#now()
    this.#draft(line, first)
    this.#limitPrompts(this.#now() - start)
    this.#keepRoom(prompt, -1)
    this.#give(line, first, false)
    this.#keepRoom(starved, -1)
    if (!this.#isShared) return
    this.#give(line, 'background', true)
    this.#give(line, 'background', false)
  }

  /**
   * Records that `rows` rows took `ms`. Learns from the time and moves work that was passed over to the
   * front.
   */
  ran(line: Work[], rows: number, ms: number): void {
    if (this.#promptRows > 0) {
      this.#chunk.observe(rows, ms)
      this.#promptMs = Math.max(0, ms - this.cost.ms(this.#step.rows)) / this.#promptRows
    } else {
      this.cost.observe(rows, ms)
    }
    this.#credit = this.#isShared ? Math.min(this.#credit + BACKGROUND_SHARE * ms, CHUNK_MS) : 0
    const served = this.#served
    let front = 0
    for (let index = 0; index < line.length; index++) {
      const work = line[index]!
      work.passedOver = !work.waiting && !isChosen(work)
      if (work.passedOver) line[front++] = work
      else served.push(work)
    }
    for (let index = 0; index < served.length; index++) line[front + index] = served[index]!
    served.length = 0
  }

  /** Rows that are reserved for work that was passed over. */
  #keepRoom(work: Work | undefined, sign: 1 | -1): void {
    if (work === undefined) return
    const count = sign * work.lanes.length
    this.#left.logits -= count
    this.#left.sequences -= count
    for (let at = 0; at < work.lanes.length; at++)
      this.#left.rows -= sign * Math.max(1, togetherAt(work.lanes[at]!, this.#inputs))
  }

  #give(line: readonly Work[], priority: Priority, decoding: boolean): void {
    for (let index = 0; index < line.length; index++) {
      const work = line[index]!
      if (work.priority === priority && work.decoding === decoding && !work.waiting) this.#giveOne(work)
    }
  }

  /**
   * Gives the work all rows that it still needs if they fit; otherwise as many as fit, but never the last row
   * of a lane.
   */
  #giveOne(work: Work): void {
    const { lanes } = work
    const left = this.#left
    if (left.sequences < lanes.length) return
    const all = work.logits === 'all'
    let wanted = 0
    for (let at = 0; at < lanes.length; at++) wanted += lacking(lanes[at]!)
    const price = this.#isShared && work.priority === 'background' ? this.#priceOf(work, wanted) : 0
    let room = work.decoding ? left.rows : Math.max(0, Math.min(left.rows, left.prompt))
    if (lanes.length === 1 && togetherAt(lanes[0]!, this.#inputs) === wanted) room = left.rows
    if (all) room = Math.min(room, left.logits)
    if (price > 0) {
      // With full credit, some rows run at any cost, because the known cost may be outdated.
      const affordable = Math.max(Math.floor(this.#credit / price), this.#credit >= CHUNK_MS ? LEAST_ROWS : 0)
      if (affordable < Math.min(wanted, room, LEAST_ROWS)) return
      room = Math.min(room, affordable)
    }
    const isWhole =
      wanted <= room && (all ? wanted : lanes.length) <= left.logits && endsTogether(lanes, this.#inputs)
    let given = 0
    for (let at = 0; at < lanes.length; at++) {
      const lane = lanes[at]!
      const lacks = lacking(lane)
      const rows = isWhole || all ? Math.min(lacks, room) : Math.max(0, Math.min(lacks - 1, room - given))
      const together = togetherAt(lane, this.#inputs)
      // Rows that must run together may exceed the chunk, but not the step.
      lane.rows =
        together === 0
          ? untilTogether(lane, lane.sequence.state.untilMark(rows), this.#inputs)
          : (isWhole || together < lacks) && together <= left.rows - given
            ? together
            : 0
      given += lane.rows
    }
    if (given === 0) return
    this.#credit = Math.max(this.#credit - given * price, -CHUNK_MS)
    left.rows -= given
    left.sequences -= lanes.length
    left.logits -= all ? given : isWhole ? lanes.length : 0
    this.#count(work, given, isWhole)
  }

  #count(work: Work, rows: number, isWhole: boolean): void {
    if (!work.decoding) {
      this.#left.prompt -= rows
      this.#promptRows += rows
      return
    }
    this.#step.rows += rows
    if (isWhole) this.#step.tokens++
  }

  /** Milliseconds by which one row of background work slows the step. */
  #priceOf(work: Work, wanted: number): number {
    const { rows } = this.#step
    if (!work.decoding) return this.#promptMs
    return (this.cost.ms(rows + wanted) - this.cost.ms(rows)) / wanted
  }

  /** Drafts use the capacity that other sequences leave. */
  #draft(line: readonly Work[], priority: Priority): void {
    const left = this.#left
    for (let index = 0; index < line.length; index++) {
      const work = line[index]!
      if (work.priority !== priority || !work.decoding || !isChosen(work)) continue
      const { lanes } = work
      const most = Math.floor(Math.max(0, Math.min(left.rows, left.logits)) / lanes.length)
      work.draft(most, this.#step, this.cost)
      const rows = work.drafted * lanes.length
      for (let at = 0; at < lanes.length; at++) lanes[at]!.rows += work.drafted
      left.rows -= rows
      left.logits -= rows
      this.#step.rows += rows
    }
  }

  /** Decoding rows, and the time spent on drafting, reduce the chunk of prompt rows. */
  #limitPrompts(draftMs: number): void {
    const { rows } = this.#chunk
    const share = Math.max(0, 1 - draftMs / CHUNK_MS)
    this.#left.prompt = Math.max(Math.floor(rows * share) - this.#step.rows, Math.min(rows, LEAST_ROWS))
  }
}

function hasRunnable(line: readonly Work[], priority: Priority): boolean {
  for (let index = 0; index < line.length; index++) {
    const work = line[index]!
    if (work.priority === priority && !work.waiting) return true
  }
  return false
}

/**
 * The first work that was passed over and is still processing its prompt; with `any`, also work that decodes.
 */
function overdue(line: readonly Work[], priority: Priority, any: boolean): Work | undefined {
  for (let index = 0; index < line.length; index++) {
    const work = line[index]!
    if (work.priority !== priority || work.waiting || !work.passedOver) continue
    if (any || !work.decoding) return work
  }
  return undefined
}

// hot
const togetherAt = ({ sequence }: Lane, inputs: RowSource): number =>
  inputs.togetherAt(sequence.tokens, sequence.cached)

// hot
const untilTogether = ({ sequence }: Lane, rows: number, inputs: RowSource): number =>
  inputs.untilTogether(sequence.tokens, sequence.cached, rows)

/**
 * True if no lane needs a checkpoint before its last token, or has rows before it that must stay together.
 */
function endsTogether(lanes: readonly Lane[], inputs: RowSource): boolean {
  for (let at = 0; at < lanes.length; at++) {
    const lane = lanes[at]!
    const lacks = lacking(lane)
    if (lane.sequence.state.untilMark(lacks) < lacks) return false
    if (untilTogether(lane, lacks, inputs) < lacks && togetherAt(lane, inputs) !== lacks) return false
  }
  return true
}

function clear(work: Work): void {
  work.drafted = 0
  for (let at = 0; at < work.lanes.length; at++) work.lanes[at]!.rows = 0
}
