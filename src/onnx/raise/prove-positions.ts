// Positions. In: the numbers by which rows of a table are chosen. Out: nothing, if they are the positions of
// the step; else an error.
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { numbersOf } from '../ir/tensor.ts'
import { probe, type StepSizes } from './probe.ts'
import type { Translator } from './translator.ts'

const SIZES: readonly StepSizes[] = [
  { tokens: 5, past: 0 },
  { tokens: 2, past: 4 },
]

/** Throws `unsupported` for other numbers than past, past + 1, .. */
export function provePositions(t: Translator, node: Node, name: string): void {
  for (const size of SIZES) {
    if (size.past > 0 && !t.hasState) continue
    const found = numbersOf(probe(t, name, size))
    const isStep = found.length === size.tokens && found.every((each, at) => each === size.past + at)
    if (isStep) continue
    throw unclaimed(node, `${name} is [${found.slice(0, 8)}] for ${size.tokens} tokens after ${size.past}`)
  }
}
