// A stage as the plan cache holds it: its program with the functions and constants that it reads, and what is
// left of the graph.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Constant, Graph } from '../../onnx/ir/graph.ts'
import type { Kernel } from '../emit/kernel.ts'
import { bytesOf, isConstant, type Value } from '../loops/loops.ts'
import { checkCall, checkKernel } from '../program/check.ts'
import { keyOf, type RunnableProgram } from '../program/program.ts'
import type { EmittedStep, Step } from '../program/step.ts'
import type { Functions } from '../run/machine.ts'
import type { PlannedStage, RunnableStage } from './stage.ts'

type CachedStep = Exclude<Step, EmittedStep> | Omit<EmittedStep, 'key'>

interface CachedStage extends Omit<RunnableStage, 'compiled'> {
  readonly compiled:
    | (Omit<RunnableProgram, 'steps'> & {
        readonly steps: readonly CachedStep[]
        readonly functions: ReadonlyMap<Kernel, Uint8Array>
        readonly constants: ReadonlyMap<string, Constant>
      })
    | undefined
}

/** `outputs`: the names of the network's outputs; `functions`: those of the stage's program. */
export function toCache(
  { graph, compiled, foreign, deciding, reasons, types, rest }: PlannedStage,
  outputs: readonly string[],
  functions: Functions,
): CachedStage {
  const read = new Set(foreign.flatMap(({ inputs }) => inputs))
  return {
    graph: { constants: picked(graph.constants, new Set(outputs)) },
    compiled: compiled && programToCache(compiled.program, compiled.graph, functions),
    foreign,
    deciding,
    reasons,
    types: picked(types, read),
    rest,
  }
}

function programToCache(
  { lowered, steps, places, arenaBytes, scratchBytes }: RunnableProgram,
  { constants }: Pick<Graph, 'constants'>,
  functions: Functions,
): CachedStage['compiled'] {
  const kernels = new Map<string, Kernel>()
  const { inputs, outputs } = lowered
  return {
    lowered: { inputs, outputs },
    steps: steps.map((step): CachedStep => {
      if ('kernel' in step) return step
      const { key, call, ...others } = step
      const kernel = kernels.get(key) ?? call.kernel
      kernels.set(key, kernel)
      return { ...others, call: { ...call, kernel } }
    }),
    places,
    arenaBytes,
    scratchBytes,
    functions: new Map(
      [...kernels].flatMap(([key, kernel]) => {
        const code = functions.get(key)
        return code === undefined ? [] : [[kernel, code] as const]
      }),
    ),
    constants: picked(constants, new Set(steps.flatMap(namesIn))),
  }
}

/** The values that a step reads and writes. */
function valuesOf(step: CachedStep): readonly Value[] {
  if ('kernel' in step) {
    const { kernel } = step
    const [{ value }] = kernel.args
    return [value, kernel.out, ...(kernel.loop === 'linear' ? [kernel.matrix.value] : [])]
  }
  const { streams, product } = step.call
  const places = [...streams, product?.a, product?.b, product?.windows?.rows, product?.windows?.gaps]
  const values = places.flatMap((place) => (place && 'value' in place.at ? [place.at.value] : []))
  return product === undefined ? values : [...values, product.matrix.value]
}

/** The names of the constants that a step reads. */
function namesIn(step: Step): readonly string[] {
  const names = valuesOf(step).flatMap(constantsOf)
  const bias = 'call' in step ? step.call.product?.codes?.bias : undefined
  return bias === undefined ? names : [...names, bias.constant]
}

/** The names of the constants from which a value is laid out. */
function constantsOf(value: Value): readonly string[] {
  if (!isConstant(value)) return []
  const { constant, codes } = value.given
  if (codes === undefined || !('block' in codes)) return [constant]
  return [constant, codes.scales, ...(codes.zeros === undefined ? [] : [codes.zeros])]
}

const picked = <Item>(map: ReadonlyMap<string, Item>, names: ReadonlySet<string>): Map<string, Item> =>
  new Map([...map].filter(([name]) => names.has(name)))

/**
 * The stage, with the functions of its program. Throws if a step would leave its values, or a value the
 * arena, as for a new program.
 */
export function fromCache(cached: unknown): { readonly stage: RunnableStage; readonly functions: Functions } {
  const { compiled, ...stage } = cached as CachedStage
  if (compiled === undefined) return { stage: { ...stage, compiled }, functions: new Map() }
  const { functions, constants, steps, ...program } = compiled
  const kernels = new Set(steps.flatMap((step) => ('kernel' in step ? [] : [step.call.kernel])))
  const keys = new Map([...kernels].map((kernel) => [kernel, keyOf(kernel)]))
  checkPlaces(program, steps)
  return {
    stage: {
      ...stage,
      compiled: {
        program: {
          ...program,
          steps: steps.map((step): Step => {
            if ('kernel' in step) return step
            return { ...step, key: keys.get(step.call.kernel)! }
          }),
        },
        graph: { constants },
      },
    },
    functions: new Map([...functions].map(([kernel, code]) => [keys.get(kernel)!, code])),
  }
}

function checkPlaces(
  { places, arenaBytes }: Pick<RunnableProgram, 'places' | 'arenaBytes'>,
  steps: readonly CachedStep[],
): void {
  for (const step of steps) {
    if ('kernel' in step) checkKernel(step.kernel)
    else checkCall(step.call, step.nodes)
    for (const value of valuesOf(step)) {
      const at = isConstant(value) ? 0 : (places.get(value) ?? Number.NaN)
      if (at >= 0 && (isConstant(value) || at + bytesOf(value) <= arenaBytes)) continue
      throw new HalfbyteError('internal', `the cached value ${value.name} is outside of the arena`)
    }
  }
}
