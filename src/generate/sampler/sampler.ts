// The sampler. In: a row of logits and the tokens so far. Out: the next id.
import { type Adjustment, biasLogits, penalize } from './adjust.ts'
import { type Candidates, createCandidates, draw, selectTop, softmax } from './candidates.ts'
import { type SamplerOptions, type SamplerSettings, samplerSettings } from './options.ts'
import { Random, randomSeed } from './random.ts'
import { minP, type Stage, tailFree, temperature, topP, typical } from './stages.ts'

/**
 * The chain: adjustments of the whole row (bias, penalties), selection of the top k, stages over the candidates
 * (tail-free, typical, top-p, min-p, temperature), one draw. A new stage is a line in one of the two lists below.
 */
export class Sampler {
  /** What the draws were seeded with, also when the caller gave no seed. */
  readonly seed: number
  readonly #adjustments: readonly Adjustment[]
  readonly #stages: readonly Stage[]
  readonly #candidates: Candidates
  readonly #random: Random

  /** Throws `unsupported` for an option outside its range. */
  constructor(vocab: number, options: SamplerOptions = {}) {
    const settings = samplerSettings(options, vocab)
    const topK = settings.temperature === 0 ? 1 : settings.topK
    this.seed = settings.seed ?? randomSeed()
    this.#random = new Random(this.seed)
    this.#adjustments = adjustmentsOf(settings, vocab)
    // One candidate needs no stages, and greedy's temperature would divide by zero.
    this.#stages = topK === 1 ? [] : stagesOf(settings)
    this.#candidates = createCandidates(topK === 0 ? vocab : Math.min(topK, vocab))
  }

  /**
   * Picks the next id. `logits` is scratch: bias and penalties are written into it. `history` holds every token so
   * far, prompt included, up to `length`. Throws `internal` on NaN or +Infinity.
   */
  sample(logits: Float32Array, history: ArrayLike<number>, length: number = history.length): number {
    // hot
    for (const adjust of this.#adjustments) adjust(logits, history, length)
    const candidates = this.#candidates
    selectTop(logits, candidates)
    for (const stage of this.#stages) stage(candidates)
    softmax(candidates)
    return draw(candidates, this.#random.next())
  }
}

function adjustmentsOf(settings: SamplerSettings, vocab: number): Adjustment[] {
  const { repeatLastN, repeatPenalty, frequencyPenalty, presencePenalty } = settings
  const penalized =
    repeatLastN > 0 && (repeatPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0)
  const list: Adjustment[] = []
  if (Object.keys(settings.logitBias).length > 0) list.push(biasLogits(settings.logitBias))
  if (penalized) list.push(penalize(settings, vocab))
  return list
}

function stagesOf(settings: SamplerSettings): Stage[] {
  const list: Stage[] = []
  if (settings.tfsZ < 1) list.push((set) => tailFree(set, settings.tfsZ))
  if (settings.typicalP < 1) list.push((set) => typical(set, settings.typicalP))
  if (settings.topP < 1) list.push((set) => topP(set, settings.topP))
  if (settings.minP > 0) list.push((set) => minP(set, settings.minP))
  if (settings.temperature !== 1) list.push((set) => temperature(set, settings.temperature))
  return list
}
