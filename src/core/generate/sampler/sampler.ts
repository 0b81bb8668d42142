// The sampler: picks the next id from a row of logits and the tokens so far.
import { HalfbyteError } from '../../base/errors.ts'
import type { ReplyConstraint } from '../../constrain/written-grammar.ts'
import { Candidates, LogProbabilities } from './candidates.ts'
import { Breakers, dry, type TokenBytes } from './dry.ts'
import type { LogitRows } from './logit-rows.ts'
import { type Adjustment, biasLogits, type LogitProcessor, penalize, runProcessors } from './processors.ts'
import { Random, randomSeed } from './random.ts'
import { type SamplerOptions, type SamplerSettings, samplerSettings } from './sampler-options.ts'
import { Mirostat, type Stage, stagesOf } from './stages.ts'

type Masks = Pick<ReplyConstraint, 'mask' | 'accept'>

/** What a sampler needs besides its options. */
export interface SamplerParts {
  /** Decides what may come next. Its `accept` is called for every id. */
  readonly constraint?: Masks | undefined
  readonly processors?: readonly LogitProcessor[] | undefined
  /** Defaults from the model's files. Default: none. */
  readonly defaults?: SamplerOptions | undefined
  /** Bytes of tokens, for DRY's sequence breakers. Default: no breakers. */
  readonly tokenBytes?: TokenBytes | undefined
}

/**
 * Logits further below the best have weight 0. Without this limit, a tiny temperature could give Infinity *
 * 0.
 */
const MAX_SCALE = 1e30

/**
 * The chain of one reply: guidance, processors, constraint, bias and bans, penalties, DRY; then top-n-sigma,
 * top-k, tail-free, typical, top-p, min-p, XTC and temperature, or temperature and mirostat; then one draw.
 * Holds the state of the stages; the tokens passed to it may only grow.
 */
export class Sampler {
  /** The seed of the draws, even if the caller gave none. */
  readonly seed: number
  /** Log-probabilities of the last row, if requested. */
  readonly logprobs: LogProbabilities | undefined
  readonly #rows: LogitRows
  readonly #settings: SamplerSettings
  readonly #constraint: Masks | undefined
  readonly #processors: readonly LogitProcessor[]
  readonly #adjustments: readonly Adjustment[]
  readonly #stages: readonly Stage[]
  readonly #mirostat: Mirostat | undefined
  readonly #candidates: Candidates
  readonly #random: Random
  readonly #topK: number
  /** Number of tokens picked so far. */
  #picked = 0

  /** Throws `unsupported` for an option outside its range, or `out-of-memory`. */
  constructor(rows: LogitRows, options: SamplerOptions = {}, parts: SamplerParts = {}) {
    const settings = samplerSettings(options, rows.vocab, parts.defaults)
    const { temperature, mirostat, mirostatEnt, mirostatLr, topK, logprobs } = settings
    const isGreedy = temperature === 0
    this.seed = settings.seed ?? randomSeed()
    this.#random = new Random(this.seed)
    this.#rows = rows
    this.#settings = settings
    this.#constraint = parts.constraint
    this.#processors = parts.processors ?? []
    this.#adjustments = adjustmentsOf(settings, parts.tokenBytes, rows)
    this.#stages = isGreedy ? [] : stagesOf(settings, this.#random)
    this.#mirostat = isGreedy || mirostat === 0 ? undefined : new Mirostat(mirostat, mirostatEnt, mirostatLr)
    this.#topK = isGreedy ? 1 : this.#mirostat === undefined ? Math.min(topK, rows.vocab) : 0
    rows.reserve(this.#topK === 0 ? rows.vocab : this.#topK)
    this.logprobs = logprobs === undefined ? undefined : new LogProbabilities(rows, logprobs)
    this.#candidates = new Candidates(rows)
  }

  // hot
  /**
   * Picks the next id. `logits` and `guide`, the row of the negative prompt, are scratch in the engine's
   * memory. The first `length` entries of `history` are all tokens so far, including the prompt. Throws
   * `integrity` on NaN or +Infinity, `unsupported` if every id is banned, a processor fails, or a forced
   * token is not allowed. The sampler cannot be used after an error.
   */
  sample(
    logits: Float32Array,
    history: ArrayLike<number>,
    length: number = history.length,
    guide?: Float32Array,
  ): number {
    this.logprobs?.observe(logits)
    const forced = this.#settings.forcedTokens[this.#picked]
    const mask = this.#constraint?.mask()
    const id = forced ?? this.#pick(logits, history, length, guide, mask)
    if (forced !== undefined && mask !== undefined) checkForced(forced, mask)
    this.#constraint?.accept(id)
    this.#picked++
    return id
  }

  #pick(
    logits: Float32Array,
    history: ArrayLike<number>,
    length: number,
    guide: Float32Array | undefined,
    mask: Uint32Array | undefined,
  ): number {
    this.#adjust(logits, history, length, guide, mask)
    const { topNSigma, temperature } = this.#settings
    const candidates = this.#candidates
    const scale = Math.min(1 / temperature, MAX_SCALE)
    if (this.#mirostat !== undefined) {
      candidates.start(logits, 0, Number.NEGATIVE_INFINITY, scale)
      return candidates.ids[this.#mirostat.draw(candidates, this.#random)]!
    }
    const least = topNSigma > 0 ? this.#rows.floorOf(logits, topNSigma) : Number.NEGATIVE_INFINITY
    candidates.start(logits, this.#topK, least, 1)
    for (const stage of this.#stages) stage(candidates)
    if (scale !== 1) candidates.weigh(scale)
    return candidates.ids[candidates.draw(this.#random.next())]!
  }

  /** The stages that work on the whole row. */
  #adjust(
    logits: Float32Array,
    history: ArrayLike<number>,
    length: number,
    guide: Float32Array | undefined,
    mask: Uint32Array | undefined,
  ): void {
    const rows = this.#rows
    const { cfgScale } = this.#settings
    if (cfgScale !== 1) {
      if (guide === undefined) throw unguided(cfgScale)
      rows.guide(logits, guide, cfgScale)
    }
    if (this.#processors.length > 0) {
      // Checks the row first, so that a processor is not blamed for a damaged model.
      rows.top(logits, 1, Number.NEGATIVE_INFINITY)
      runProcessors(this.#processors, logits, history, length)
    }
    if (mask !== undefined) rows.mask(logits, mask)
    for (const adjust of this.#adjustments) adjust(logits, history, length)
  }
}

function adjustmentsOf(
  settings: SamplerSettings,
  tokenBytes: TokenBytes | undefined,
  rows: LogitRows,
): Adjustment[] {
  const { repeatLastN, repeatPenalty, frequencyPenalty, presencePenalty } = settings
  const isPenalized =
    repeatLastN > 0 && (repeatPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0)
  const list: Adjustment[] = []
  if (Object.keys(settings.logitBias).length + settings.bannedTokens.length > 0)
    list.push(biasLogits(settings))
  if (isPenalized) list.push(penalize(settings, rows.tally))
  if (settings.dryMultiplier > 0) {
    const texts = tokenBytes === undefined ? [] : settings.drySequenceBreakers
    const breakers = new Breakers(texts, tokenBytes ?? (() => new Uint8Array()))
    list.push(dry(settings, breakers, rows.tally))
  }
  return list
}

function unguided(cfgScale: number): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `cfgScale is ${cfgScale} but there is no negative prompt to steer away from; give one or leave cfgScale out`,
    { cfgScale },
  )
}

function checkForced(id: number, mask: Uint32Array): void {
  if (((mask[id >> 5]! >>> (id % 32)) & 1) === 1) return
  throw new HalfbyteError(
    'unsupported',
    `the forced token ${id} does not fit the constraint; change one of them`,
    { id },
  )
}
