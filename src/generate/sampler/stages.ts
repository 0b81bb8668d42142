// Stages. In: candidates, best first. Out: fewer of them, or the same with other logits; at least one always stays.
import { type Candidates, softmax } from './candidates.ts'

/** One step of the chain over the candidates. */
export type Stage = (set: Candidates) => void

/** Cuts where the curve of probabilities flattens: keeps `z` of its absolute second differences. */
export function tailFree(set: Candidates, z: number): void {
  if (set.count <= 2) return
  softmax(set)
  const { probabilities: p, count } = set
  let total = 0
  for (let i = 0; i < count - 2; i++) total += bend(p, i)
  if (total === 0) return
  let kept = 0
  for (let i = 0; i < count - 2; i++) {
    kept += bend(p, i) / total
    if (kept > z) {
      set.count = Math.max(1, i)
      return
    }
  }
}

const bend = (p: Float32Array, i: number): number =>
  Math.abs((p[i] as number) - 2 * (p[i + 1] as number) + (p[i + 2] as number))

/** Keeps the candidates whose surprise is nearest the expected one, until their probability passes `share`. */
export function typical(set: Candidates, share: number): void {
  softmax(set)
  const { ids, logits, probabilities: p, keys, count } = set
  const max = logits[0] as number
  // p[0] = exp(0) / sum
  const logSum = -Math.log(p[0] as number)
  let entropy = 0
  for (let i = 0; i < count; i++) entropy += (p[i] as number) * (max - (logits[i] as number) + logSum)
  // A key is the distance, rounded to 2^-24, and the index: ties go to the likelier.
  for (let i = 0; i < count; i++) {
    const distance = Math.abs(max - (logits[i] as number) + logSum - entropy)
    keys[i] = Math.min(Math.floor(distance * DISTANCE_STEPS), DISTANCE_CAP) * INDEX_SPAN + i
  }
  keys.fill(Infinity, count)
  keys.sort()
  let mass = 0
  let kept = 0
  while (kept < count && mass <= share) mass += p[(keys[kept++] as number) % INDEX_SPAN] as number
  for (let i = 0; i < kept; i++) keys[i] = (keys[i] as number) % INDEX_SPAN
  keys.fill(Infinity, kept)
  keys.sort()
  for (let i = 0; i < kept; i++) {
    const from = keys[i] as number
    ids[i] = ids[from] as number
    logits[i] = logits[from] as number
  }
  set.count = kept
}

const INDEX_SPAN = 2 ** 21
const DISTANCE_STEPS = 2 ** 24
const DISTANCE_CAP = 2 ** 32 - 1

/** Keeps the likeliest until their probabilities reach `share`. */
export function topP(set: Candidates, share: number): void {
  // hot
  softmax(set)
  let mass = 0
  for (let i = 0; i < set.count; i++) {
    mass += set.probabilities[i] as number
    if (mass >= share) {
      set.count = i + 1
      return
    }
  }
}

/** Drops what is less likely than `share` of the likeliest. */
export function minP(set: Candidates, share: number): void {
  // hot
  const least = (set.logits[0] as number) + Math.log(share)
  let count = 1
  while (count < set.count && (set.logits[count] as number) >= least) count++
  set.count = count
}

/** Sharpens below 1, flattens above. */
export function temperature(set: Candidates, value: number): void {
  // hot
  // Distances to the best, so that a tiny temperature cannot reach infinity twice.
  const best = set.logits[0] as number
  for (let i = 0; i < set.count; i++) set.logits[i] = ((set.logits[i] as number) - best) / value
}
