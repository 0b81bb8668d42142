// OBS under a given mask. In: weights, a mask, the factor of their inputs' Hessian. Out: the weights of all
// groups, updated as in pruning, and their loss by equation 24.
import type { Factor } from '../matrix/factor.ts'
import { groupTasks, solveGroup } from '../prune/group-tasks.ts'
import { type Mask, rowGroups } from '../prune/mask.ts'

/** [n][k]; dropped weights are 0. With `inverse`, the smaller side of a mask is factored. */
export function obsUpdate(
  weights: ArrayLike<number>,
  mask: Mask,
  factor: Factor,
  inverse?: Float64Array,
): Float64Array {
  const { n, k } = mask
  const values = new Float64Array(n * k)
  for (const task of groupTasks(weights, mask, { isUpdated: true })) {
    const own = solveGroup(task, factor, inverse).values
    for (const [at, row] of task.rows.entries()) values.set(own.subarray(at * k, (at + 1) * k), row * k)
  }
  return values
}

/** L of each row by equation 24, including damping, [n]. `values`: the updated weights. */
export function obsLosses(
  weights: ArrayLike<number>,
  values: Float64Array,
  mask: Mask,
  { hessian }: Factor,
): Float64Array {
  const { n, k } = mask
  const losses = new Float64Array(n)
  const pull = new Float64Array(k)
  for (const { rows, kept, dropped } of rowGroups(mask)) {
    for (const row of rows) {
      pull.fill(0)
      for (const p of dropped) {
        for (let i = 0; i < k; i++) pull[i]! += hessian[p * k + i]! * weights[row * k + p]!
      }
      for (const p of dropped) losses[row]! += pull[p]! * weights[row * k + p]!
      for (const j of kept) losses[row]! -= pull[j]! * (values[row * k + j]! - weights[row * k + j]!)
    }
  }
  return losses
}
