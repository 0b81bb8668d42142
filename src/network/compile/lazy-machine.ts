// The machine of a graph, which is opened when a program is first loaded.
import type { NetworkLimits } from '../onnx/graph-budget.ts'
import type { Graph } from '../onnx/ir/graph.ts'
import type { WeightPolicy } from './lower/policy.ts'
import { type LoadedProgram, Machine, type MachineOptions } from './run/machine.ts'
import type { LeftOut } from './stages.ts'

export interface CompileOptions extends Pick<MachineOptions, 'fuse' | 'workers'> {
  /** Default `auto`. */
  readonly weights?: WeightPolicy | undefined
  /** Loads the engine's module, when programs need it. Default: everything is multiplied in f32. */
  readonly loadKernels?: (() => Promise<NonNullable<MachineOptions['kernels']>>) | undefined
  /** The limits of the graph. */
  readonly limits?: NetworkLimits | undefined
  /** For tests and measurements. Default: nothing. */
  readonly leftOut?: LeftOut | undefined
}

/** Operators whose constant codes the engine's kernels can multiply by. */
const CODED = ['MatMulInteger', 'DequantizeLinear', 'MatMulNBits']

/** Whether programs with this policy may have steps that the engine's kernels run. */
const needsKernels = ({ nodes }: Graph, weights: WeightPolicy): boolean =>
  weights === 'auto' ? nodes.some(({ op }) => CODED.includes(op)) : weights !== 'f32'

export class LazyMachine {
  /** The policy of programs: `f32` where no kernels are needed or there are none. */
  readonly weights: WeightPolicy
  readonly #options: CompileOptions
  #machine: Machine | undefined

  /** `graph`: after its passes. */
  constructor(graph: Graph, options: CompileOptions) {
    const { weights = 'auto', loadKernels } = options
    this.#options = options
    this.weights = loadKernels !== undefined && needsKernels(graph, weights) ? weights : 'f32'
  }

  /** Throws `internal` where a thread does not start, and `out-of-memory`. */
  async open(): Promise<Machine> {
    const { fuse, loadKernels, workers } = this.#options
    const needs = this.weights !== 'f32' || workers !== undefined
    this.#machine ??= await Machine.open({
      fuse,
      kernels: needs ? await loadKernels?.() : undefined,
      workers,
    })
    return this.#machine
  }

  /** Frees the constants that no other program has. */
  unload(loaded: LoadedProgram): void {
    this.#machine?.unload(loaded)
  }

  /** Threads that share a run; 1 before they are started. */
  get threads(): number {
    return this.#machine?.threads ?? 1
  }

  get sizes(): Machine['sizes'] {
    return this.#machine?.sizes ?? { memoryBytes: 0, codeBytes: 0, functions: 0 }
  }

  /** Ends the workers. Nothing can be run afterwards. */
  dispose(): void {
    this.#machine?.dispose()
  }
}
