// Drafts tokens with a second, smaller model in the same memory.

import { isHalfbyteError } from '../../base/errors.ts'
import { steadyClock } from '../../base/time/clocks.ts'
import type { Sequence } from '../schedule/sequence.ts'
import { type Drafter, GRADES, MAX_DRAFTS } from '../schedule/speculation.ts'
import { RowsView, type StepMachine } from '../schedule/step-buffer.ts'
import { ChunkSize } from '../schedule/step-cost.ts'

/** Shares the pool of the large model, which waits while the small one runs. */
interface DraftModelOptions extends StepMachine {
  /** Only ids below this are drafted and read, because only these are in both models. */
  readonly vocab: number
}

/**
 * Fraction of a chunk's time that the draft model may spend on reading text in one step of the large model.
 */
const READ_SHARE = 0.5
/** Weight of a new step's time. */
const WEIGHT = 0.2

/** A loaded draft model, shared by all generations of an engine. */
export class DraftModel {
  readonly #options: DraftModelOptions
  readonly #logits: RowsView
  readonly #chunk: ChunkSize
  /** Number of ids that are in both models. */
  readonly vocab: number
  #stepMs = 0
  /** Milliseconds per row of the last step that read text. A step with one row takes at least as long. */
  #rowMs = 0

  constructor(options: DraftModelOptions) {
    this.#options = { ...options, now: steadyClock(options.now) }
    this.vocab = Math.min(options.vocab, options.plan.logits.width)
    this.#logits = new RowsView(options.arena, options.plan.logits, options.written)
    this.#chunk = new ChunkSize(options.plan.tokens)
  }

  /**
   * Milliseconds of a step with few rows; before the first such step, a lower bound. If even this is too long
   * to pay off, the rest of the prompt is not read.
   */
  get stepMs(): number {
    return this.#stepMs || this.#rowMs || Number.MIN_VALUE
  }

  /** Maximum rows of a step that reads text. */
  get readRows(): number {
    return Math.max(1, Math.floor(this.#chunk.rows * READ_SHARE))
  }

  // hot
  /**
   * Processes the next `rows` tokens of `sequence`. Returns the most likely next token. Throws the errors of
   * `reserve` and `run`.
   */
  run(sequence: Sequence, rows: number): number {
    const { pool, written, step, now } = this.#options
    const { state, tokens } = sequence
    state.reserve(rows)
    const start = now()
    step.begin()
    step.addSequence(state)
    const first = state.length
    for (let row = 0; row < rows; row++) step.addToken(tokens[first + row]!, row === rows - 1)
    step.finish()
    pool.run(written.records, step.step, 0, written.count)
    state.advance(rows)
    const ms = now() - start
    this.#chunk.observe(rows, ms)
    if (rows > 2) this.#rowMs = ms / rows
    else this.#stepMs = this.#stepMs === 0 ? ms : this.#stepMs + WEIGHT * (ms - this.#stepMs)
    return largest(this.#logits.row(0), this.vocab)
  }

  /**
   * Drafts on `sequence`, which belongs to the draft model's own state. Existing state is reused.
   */
  drafter(sequence: Sequence): Drafter {
    return new ModelDrafter(this, sequence)
  }
}

/** Always greedy: a draft is right if the sampler picks the same token. */
class ModelDrafter implements Drafter {
  readonly #model: DraftModel
  readonly #sequence: Sequence
  /** How many tokens at the start of the sequence are known to match the text. */
  #agreed = 0
  /** Set if there is no memory for the draft model's state, or if its vocabulary lacks one of the tokens. */
  #isOut = false

  constructor(model: DraftModel, sequence: Sequence) {
    this.#model = model
    this.#sequence = sequence
  }

  get msPerDraft(): number {
    return this.#model.stepMs
  }

  gradeAt(): number {
    return GRADES.model
  }

  // hot
  look(tokens: readonly number[]): number {
    const sequence = this.#sequence
    const room = sequence.contextLength - tokens.length
    if (this.#isOut || room <= 0) return 0
    this.#follow(tokens)
    if (this.#isOut) return 0
    const behind = tokens.length - sequence.cached
    if (behind > this.#model.readRows) {
      this.#tryRun(this.#model.readRows)
      return 0
    }
    return Math.min(room, MAX_DRAFTS)
  }

  draft(count: number, out: Int32Array): number {
    const sequence = this.#sequence
    for (let index = 0; index < count; index++) {
      const id = this.#tryRun(sequence.tokens.length - sequence.cached)
      if (id === undefined) return index
      out[index] = id
      sequence.append(id)
    }
    return count
  }

  /** Replaces the sequence's tokens with the text's. Keeps the state of the common prefix. */
  #follow(tokens: readonly number[]): void {
    const sequence = this.#sequence
    // If a text became shorter, tokens in its middle were dropped.
    let agreed = tokens.length < this.#agreed ? 0 : this.#agreed
    while (agreed < tokens.length && sequence.tokens[agreed] === tokens[agreed]) agreed++
    // The last token is processed again for its logits.
    sequence.truncate(Math.min(agreed, tokens.length - 1))
    for (let index = sequence.tokens.length; index < tokens.length; index++) {
      // An id in the padding of the larger vocabulary; drafts after it would be meaningless.
      if (tokens[index]! >= this.#model.vocab) this.#isOut = true
      sequence.append(tokens[index]!)
    }
    this.#agreed = tokens.length
  }

  /** The most likely next token. Undefined if there is no memory for the state; drafting then ends. */
  #tryRun(rows: number): number | undefined {
    try {
      return this.#model.run(this.#sequence, rows)
    } catch (error) {
      if (!isHalfbyteError(error) || error.code !== 'out-of-memory') throw error
      this.#isOut = true
      return undefined
    }
  }
}

/** The id below `vocab` with the largest logit; among equals, the lowest id. */
function largest(logits: Float32Array, vocab: number): number {
  let best = 0
  let most = logits[0]!
  for (let id = 1; id < vocab; id++) {
    const logit = logits[id]!
    if (logit > most) {
      most = logit
      best = id
    }
  }
  return best
}
