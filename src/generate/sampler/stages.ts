// Stages. In: candidates, best first. Out: fewer of them; at least one always stays.
import type { Candidates } from './candidates.ts'
import type { SamplerSettings } from './options.ts'
import type { Random } from './random.ts'

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

const bend = (w: Float32Array, i: number): number =>
  Math.abs((w[i] as number) - 2 * (w[i + 1] as number) + (w[i + 2] as number))

/**
 * Keeps the candidates whose surprise -ln p is nearest the entropy (the expected surprise), until their
 * probability exceeds `share`; the more likely one first among equals. Surprises rise along the candidates,
 * so the kept ones are contiguous. Meister and others, Locally Typical Sampling, 2022.
 */
export function typical(set: Candidates, share: number): void {
  set.complete()
  const { logits, weights, count, total } = set
  const zero = (logits[0] as number) + Math.log(total)
  let entropy = 0
  for (let i = 0; i < count; i++) entropy += ((weights[i] as number) / total) * (zero - (logits[i] as number))
  let to = 0
  while (to < count && zero - (logits[to] as number) < entropy) to++
  let from = to
  let mass = 0
  while (to - from < count && mass <= share * total) {
    const left = from > 0 ? entropy - (zero - (logits[from - 1] as number)) : Number.POSITIVE_INFINITY
    const right = to < count ? zero - (logits[to] as number) - entropy : Number.POSITIVE_INFINITY
    mass += weights[left <= right ? --from : to++] as number
  }
  set.keep(from, to)
}

// hot
/**
 * Keeps the most likely until their probabilities reach `share`. Holtzman and others, The Curious Case of
 * Neural Text Degeneration, 2020.
 */
export function topP(set: Candidates, share: number): void {
  const enough = share * set.total
  let mass = 0
  for (let i = 0; set.has(i); i++) {
    mass += set.weights[i] as number
    if (mass < enough) continue
    set.cut(i + 1)
    return
  }
}

// hot
/** Drops ids less likely than `share` of the most likely. Nguyen and others, Turning Up the Heat, 2024. */
export function minP(set: Candidates, share: number): void {
  set.floor(share)
}

/**
 * Exclude top choices: with the given probability, of all candidates at least as likely as `threshold` only
 * the least likely stays, together with everything below it. Weidmann, 2024. Always draws one random number.
 */
export function excludeTop(set: Candidates, probability: number, threshold: number, random: Random): void {
  if (random.next() >= probability) return
  const least = threshold * set.total
  let choices = 0
  while (set.has(choices) && (set.weights[choices] as number) >= least) choices++
  if (choices > 1) set.drop(choices - 1)
}
