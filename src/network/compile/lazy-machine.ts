// A graph's machine, which is opened when the first program is loaded.
import type { NetworkLimits } from '../onnx/graph-budget.ts'
import type { Graph } from '../onnx/ir/graph.ts'
import type { ProgramWeights, WeightPolicy } from './lower/policy.ts'
import { type LoadedProgram, Machine, type MachineOptions } from './run/machine.ts'
import type { LeftOut } from './stages.ts'

export interface CompileOptions extends Pick<MachineOptions, 'fuse' | 'dot' | 'workers'> {
  /** Default `auto`. */
  readonly weights?: WeightPolicy | undefined
  /** Loads the engine's module, if programs need it. Default: all products are in f32. */
  readonly loadKernels?: (() => Promise<NonNullable<MachineOptions['kernels']>>) | undefined
  /** The graph's limits. */
  readonly limits?: NetworkLimits | undefined
  /** For tests and measurements. Default: none. */
  readonly leftOut?: LeftOut | undefined
}

/** Operators whose constant codes the engine's kernels can multiply by. */
const CODED = ['DequantizeLinear', 'MatMulNBits']

/** Whether programs with this policy may contain steps for the engine's kernels. */
const needsKernels = ({ nodes }: Graph, weights: WeightPolicy): boolean =>
  weights === 'auto' ? nodes.some(({ op }) => CODED.includes(op)) : weights !== 'f32'

/**
 * The programs' policy, which depends on whether kernels are needed and available. `graph`: after its passes.
 */
export const policyFor = (
  graph: Graph,
  { weights = 'auto', loadKernels }: Pick<CompileOptions, 'weights' | 'loadKernels'>,
): ProgramWeights => {
  if (weights === 'f32') return weights
  return loadKernels !== undefined && needsKernels(graph, weights) ? weights : 'codes'
}

export class LazyMachine {
  readonly weights: ProgramWeights
  readonly #options: CompileOptions
  #machine: Machine | undefined

  /** `weights`: from `policyFor`. */
  constructor(weights: ProgramWeights, options: CompileOptions) {
    this.#options = options
    this.weights = weights
  }

  /** Throws `internal` if a thread does not start, and `out-of-memory`. */
  async open(): Promise<Machine> {
    const { fuse, dot, loadKernels, workers } = this.#options
    const needs = !['f32', 'codes'].includes(this.weights) || workers !== undefined
    this.#machine ??= await Machine.open({
      fuse,
      dot,
      kernels: needs ? await loadKernels?.() : undefined,
      workers,
    })
    return this.#machine
  }

  /** Frees the constants that no other program uses. */
  unload(loaded: LoadedProgram): void {
    this.#machine?.unload(loaded)
  }

  /** Number of threads that share a run; 1 before they are started. */
  get threads(): number {
    return this.#machine?.threads ?? 1
  }

  get sizes(): Machine['sizes'] {
    return this.#machine?.sizes ?? { memoryBytes: 0, codeBytes: 0, functions: 0 }
  }

  /** Terminates the workers. Nothing can run afterwards. */
  dispose(): void {
    this.#machine?.dispose()
  }
}
