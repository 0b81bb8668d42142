// The stages that select among candidates, and mirostat. At least one candidate always remains.
import type { Candidates } from './candidates.ts'
import type { Random } from './random.ts'
import type { SamplerSettings } from './sampler-options.ts'

/** How many of the most likely ids Mirostat 1 uses to estimate the exponent of Zipf's law. */
const ESTIMATED = 100

/**
 * Basu and others, Mirostat, 2021. `mu` is the maximum surprise, in bits, that a candidate may have. It
 * starts at 2 * target. After every draw, it moves by `rate` times the difference between the draw's surprise
 * and `target`. As in llama.cpp, the surprise is computed over the remaining candidates, not over all.
 */
export class Mirostat {
  mu: number
  readonly #version: 1 | 2
  readonly #target: number
  readonly #rate: number

  constructor(version: 1 | 2, target: number, rate: number) {
    this.#version = version
    this.#target = target
    this.#rate = rate
    this.mu = 2 * target
  }

  /** The drawn entry. */
  draw(set: Candidates, random: Random): number {
    if (this.#version === 1) cutByZipf(set, this.mu)
    else set.floor(Math.min(1, set.total * 2 ** -this.mu))
    const index = set.draw(random.next())
    const surprise = Math.log2(set.total / set.weights[index]!)
    this.mu -= this.#rate * (surprise - this.#target)
    return index
  }
}

/**
 * Keeps the k most likely, where k gives the expected surprise `mu` if probabilities fall as rank^-s:
 * k = ((s - 1) 2^mu / (1 - n^(1 - s)))^(1 / s), with s fitted to the 100 most likely by least squares.
 */
function cutByZipf(set: Candidates, mu: number): void {
  let products = 0
  let squares = 0
  for (let i = 0; i < ESTIMATED - 1 && set.has(i + 1); i++) {
    const rank = Math.log((i + 2) / (i + 1))
    products += rank * Math.log(set.weights[i]! / set.weights[i + 1]!)
    squares += rank * rank
  }
  if (squares === 0) return
  const s = products / squares
  const steepness = s - 1
  const n = set.vocab
  // At s = 1 the formula is 0 / 0; this is its limit.
  const k = s === 1 ? 2 ** mu / Math.log(n) : ((steepness * 2 ** mu) / (1 - n ** -steepness)) ** (1 / s)
  if (!(k < n)) return
  const count = Math.max(1, Math.floor(k))
  if (set.has(count)) set.cut(count)
}

/** One stage of the chain that selects among the candidates. */
export type Stage = (set: Candidates) => void

/** The stages that the settings turn on, in the order of the chain, after top-n-sigma and top-k. */
export function stagesOf(settings: SamplerSettings, random: Random): Stage[] {
  const { tfsZ, typicalP, xtcProbability, xtcThreshold } = settings
  const chain: readonly (readonly [isOn: boolean, stage: Stage])[] = [
    [tfsZ < 1, (set) => tailFree(set, tfsZ)],
    [typicalP < 1, (set) => typical(set, typicalP)],
    [settings.topP < 1, (set) => topP(set, settings.topP)],
    [settings.minP > 0, (set) => minP(set, settings.minP)],
    [xtcProbability > 0, (set) => excludeTop(set, xtcProbability, xtcThreshold, random)],
  ]
  return chain.filter(([isOn]) => isOn).map(([, stage]) => stage)
}

/**
 * Cuts where the curve of probabilities flattens: keeps the share `z` of its absolute second differences.
 * Phénix and Egan, Tail Free Sampling, 2019.
 */
export function tailFree(set: Candidates, z: number): void {
  set.complete()
  const { weights, count } = set
  if (count <= 2) return
  let total = 0
  for (let i = 0; i < count - 2; i++) total += bend(weights, i)
  if (total === 0) return
  let kept = 0
  for (let i = 0; i < count - 2; i++) {
    kept += bend(weights, i) / total
    if (kept <= z) continue
    set.cut(Math.max(1, i))
    return
  }
}

const bend = (w: Float32Array, i: number): number => Math.abs(w[i]! - 2 * w[i + 1]! + w[i + 2]!)

/**
 * Keeps the candidates whose surprise -ln p is nearest the entropy (the expected surprise), until their
 * probability exceeds `share`; among equals, the more likely one first. Surprises rise along the candidates,
 * so the kept ones are contiguous. Meister and others, Locally Typical Sampling, 2022.
 */
export function typical(set: Candidates, share: number): void {
  set.complete()
  const { logits, weights, count, total } = set
  const zero = logits[0]! + Math.log(total)
  let entropy = 0
  for (let i = 0; i < count; i++) entropy += (weights[i]! / total) * (zero - logits[i]!)
  let to = 0
  while (to < count && zero - logits[to]! < entropy) to++
  let from = to
  let mass = 0
  while (to - from < count && mass <= share * total) {
    const left = from > 0 ? entropy - (zero - logits[from - 1]!) : Number.POSITIVE_INFINITY
    const right = to < count ? zero - logits[to]! - entropy : Number.POSITIVE_INFINITY
    mass += weights[left <= right ? --from : to++]!
  }
  set.keep(from, to)
}

// hot
/**
 * Keeps the most likely ids until their probabilities reach `share`. Holtzman and others, The Curious Case of
 * Neural Text Degeneration, 2020.
 */
export function topP(set: Candidates, share: number): void {
  const enough = share * set.total
  let mass = 0
  for (let i = 0; set.has(i); i++) {
    mass += set.weights[i]!
    if (mass < enough) continue
    set.cut(i + 1)
    return
  }
}

// hot
/** Drops ids less likely than `share` times the most likely. Nguyen and others, Turning Up the Heat, 2024. */
export function minP(set: Candidates, share: number): void {
  set.floor(share)
}

/**
 * Exclude top choices: with the given probability, drops all candidates at least as likely as `threshold`
 * except the least likely of them. Weidmann, 2024. Always draws one random number.
 */
export function excludeTop(set: Candidates, probability: number, threshold: number, random: Random): void {
  if (random.next() >= probability) return
  const least = threshold * set.total
  let choices = 0
  while (set.has(choices) && set.weights[choices]! >= least) choices++
  if (choices > 1) set.drop(choices - 1)
}
