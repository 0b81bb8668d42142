// Adjustments. In: a row of logits and the tokens so far. Out: the same row with some logits moved, before any selection.

/** One step of the chain over the whole row. `history` ends at `length`, exclusive. */
export type Adjustment = (logits: Float32Array, history: ArrayLike<number>, length: number) => void

/** Adds each bias to its id's logit; `-Infinity` bans the id. */
export function biasLogits(bias: Readonly<Record<number, number>>): Adjustment {
  const ids = Uint32Array.from(Object.keys(bias), Number)
  const amounts = Float32Array.from(ids, (id) => bias[id] as number)
  return (logits) => {
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number
      logits[id] = (logits[id] as number) + (amounts[i] as number)
    }
  }
}

export interface Penalties {
  readonly repeatLastN: number
  readonly repeatPenalty: number
  readonly frequencyPenalty: number
  readonly presencePenalty: number
}

/** Lowers the logits of the last `repeatLastN` tokens, each id once however often it occurred. */
export function penalize(penalties: Penalties, vocab: number): Adjustment {
  const { repeatLastN, repeatPenalty, frequencyPenalty, presencePenalty } = penalties
  const counts = new Uint32Array(vocab)
  return (logits, history, length) => {
    const start = Math.max(0, length - repeatLastN)
    for (let i = start; i < length; i++) {
      const id = history[i] as number
      counts[id] = (counts[id] as number) + 1
    }
    for (let i = start; i < length; i++) {
      const id = history[i] as number
      const count = counts[id] as number
      if (count === 0) continue
      counts[id] = 0
      const logit = logits[id] as number
      const repeated = logit > 0 ? logit / repeatPenalty : logit * repeatPenalty
      logits[id] = repeated - count * frequencyPenalty - presencePenalty
    }
  }
}
