// Positions and lengths. In: numbers that a graph computes for a step. Out: nothing, if they are the
// positions of the step, its length, or a mask that hides nothing; else an error.
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { numbersOf } from '../ir/tensor.ts'
import type { StepSizes } from './probe.ts'
import { prove } from './prove.ts'
import type { Translator } from './translator.ts'

/** What numbers of a step may have to be, by position in the list. */
const DUE = {
  'the positions of its tokens': ({ tokens, past }: StepSizes) => ({ count: tokens, first: past, step: 1 }),
  'the positions after it, less one': ({ tokens, past }: StepSizes) => ({
    ...{ count: 1, first: past + tokens - 1, step: 0 },
  }),
  'the positions after it': ({ tokens, past }: StepSizes) => ({ count: 1, first: past + tokens, step: 0 }),
  'ones, which hide nothing': ({ tokens, past }: StepSizes) => ({ count: past + tokens, first: 1, step: 0 }),
} as const

/** Throws `unsupported` for other numbers. `end`: positions that the table they choose from has. */
export function proveNumbers(
  t: Translator,
  node: Node,
  name: string,
  due: keyof typeof DUE,
  end?: number,
): Promise<void> {
  return prove(t, node, [name], {
    ...{ shape: { width: 1 }, end },
    check([value], sizes) {
      const found = numbersOf(value!)
      const { count, first, step } = DUE[due](sizes)
      if (found.length === count && found.every((each, at) => each === first + at * step)) return
      const wrong = Math.max(
        0,
        Math.min(
          found.findIndex((each, at) => each !== first + at * step),
          count,
        ) - 2,
      )
      throw unclaimed(
        node,
        `${name} is [${found.slice(wrong, wrong + 8)}] from place ${wrong} on for ${sizes.tokens} tokens ` +
          `after ${sizes.past}, where ${due} are known`,
      )
    },
  })
}

/** Throws `unsupported` for other numbers than past, past + 1, .. */
export const provePositions = (t: Translator, node: Node, name: string, end?: number): Promise<void> =>
  proveNumbers(t, node, name, 'the positions of its tokens', end)
