// Fits the weights. In: examples as passages. Out: the weights of a softmax, by stochastic gradients.
import { MEANINGS, type Passage, SURFACES } from '../../../src/ui/assist/care/classifier/features.ts'
import {
  NEEDS,
  scorePassage,
  surfaceShare,
  type Weights,
} from '../../../src/ui/assist/care/classifier/scores.ts'
import { KINDS, type Kind, seeded } from './data.ts'

interface Fitted {
  readonly kind: Kind
  readonly passages: readonly Passage[]
  /** How much it counts. */
  readonly weight: number
}

interface Settings {
  readonly epochs: number
  readonly rate: number
  /** Strength of the L1 penalty per step, which drives weights of rare features to 0. */
  readonly lasso: number
  readonly ridge: number
  /** The share of passages whose words are hidden, so that the classifier has to rely on their concepts. */
  readonly hidden: number
}
const SETTINGS: Settings = { epochs: 30, rate: 0.15, lasso: 3e-4, ridge: 1e-5, hidden: 0.1 }

interface Table {
  readonly values: Float64Array
  readonly squares: Float64Array
}
const table = (length: number): Table => ({
  values: new Float64Array(length),
  squares: new Float64Array(length).fill(0.1),
})

/** One step of Adagrad with a proximal step for the absolute values. */
function update({ values, squares }: Table, index: number, gradient: number, settings: Settings): void {
  const whole = gradient + settings.ridge * values[index]!
  squares[index]! += whole * whole
  const rate = settings.rate / Math.sqrt(squares[index]!)
  const moved = values[index]! - rate * whole
  values[index] = Math.sign(moved) * Math.max(0, Math.abs(moved) - rate * settings.lasso)
}

/** The passage with the highest odds of a need; in an ordinary example these odds must fall. */
function strongest(weights: Weights, passages: readonly Passage[], scores: Float64Array): Passage {
  let best = passages[0]!
  let most = -Infinity
  for (const passage of passages) {
    const odds = scorePassage(weights, passage, scores)
    if (odds > most) [best, most] = [passage, odds]
  }
  return best
}

export function fit(examples: readonly Fitted[], settings: Settings = SETTINGS): Weights {
  const biases = table(NEEDS.length)
  const meanings = table(NEEDS.length * MEANINGS)
  const surfaces = table(SURFACES)
  const weights = {
    biases: biases.values,
    meanings: meanings.values,
    surfaces: surfaces.values,
    surfaceUnit: 1,
  }
  const scores = new Float64Array(NEEDS.length)
  const random = seeded(7)
  const order = examples.map((_, index) => index)
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    for (let index = order.length - 1; index > 0; index--) {
      const other = Math.floor(random() * (index + 1))
      ;[order[index], order[other]] = [order[other]!, order[index]!]
    }
    for (const index of order) {
      const { kind, passages, weight } = examples[index]!
      if (passages.length === 0) continue
      const best = strongest(weights, passages, scores)
      const passage = random() < settings.hidden ? { ...best, surfaces: [] } : best
      scorePassage(weights, passage, scores)
      const total = scores.reduce((sum, score) => sum + Math.exp(score), 1)
      const target = KINDS.indexOf(kind)
      let shared = 0
      for (let need = 0; need < NEEDS.length; need++) {
        const gradient = weight * (Math.exp(scores[need]!) / total - (need === target ? 1 : 0))
        shared += gradient
        if (Math.abs(gradient) < 1e-4) continue
        update(biases, need, gradient, settings)
        for (const feature of passage.meanings)
          update(meanings, need * MEANINGS + feature, gradient, settings)
      }
      if (Math.abs(shared) < 1e-4) continue
      const share = surfaceShare(passage)
      for (const feature of passage.surfaces) update(surfaces, feature, shared * share, settings)
    }
  }
  return weights
}
