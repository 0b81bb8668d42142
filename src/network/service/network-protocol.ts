// Messages between a page and a network's worker, and what both need to know about a loaded network.
import type { Build } from '../../core/runtime/features.ts'
import type { LoadRequest } from '../../engine/wire/protocol.ts'
import type { WeightPolicy } from '../compile/lower/policy.ts'
import type { ForeignNode } from '../compile/refusal.ts'
import type { NetworkDType } from '../helpers/tensors.ts'
import type { NetworkLimits } from '../onnx/graph-budget.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'

/** An input or an output of a network. */
export interface NetworkValue {
  /** Its name in the file; the key of the tensors that `run` takes and returns. */
  readonly name: string
  /**
   * The type of the elements, or of those of a sequence's tensors. Undefined for an output whose type is
   * known only after a run.
   */
  readonly dtype: NetworkDType | 'string' | undefined
  /**
   * Sizes of the axes. A string names a size that each run chooses; it must be equal in all inputs that use
   * the name. Undefined if the file does not state them, and for a sequence.
   */
  readonly dims: readonly (number | string)[] | undefined
  /** Whether it is a list of tensors. */
  readonly isSequence?: true
  /** Whether a run may omit it. */
  readonly isOptional?: true
}

/** Bytes that a network uses. */
export interface NetworkMemory {
  /** Linear memory: weights, and the values of the largest run so far. */
  readonly memoryBytes: number
  /** WebAssembly compiled for this network. */
  readonly codeBytes: number
}

export interface NetworkInfo {
  readonly inputs: readonly NetworkValue[]
  readonly outputs: readonly NetworkValue[]
  readonly build: Build
  readonly threads: number
  readonly metadata: ReadonlyMap<string, string>
}

/** Options for running a network, wherever it runs. */
export interface RunRequest {
  readonly build: Build | 'auto'
  readonly weights: WeightPolicy
  readonly threads: number | 'auto'
  /** What runs the nodes that are not compiled. Default: they are rejected. */
  readonly fallback?: NetworkFallback | undefined
  /** Limits on what the file may use. */
  readonly limits?: NetworkLimits | undefined
}

/** `ort`: onnxruntime-web. */
export type NetworkFallback = 'ort'

/** A request to load in a worker. */
export type NetworkRequest = Pick<LoadRequest, 'source' | 'cache' | 'hub' | 'dtype' | 'assets'> & RunRequest

/** Tensors by name. An object would need a special case for `__proto__`. */
export type NamedTensors = readonly (readonly [name: string, tensor: Tensor])[]

/**
 * The answer to a load or a run. It includes the memory and the foreign nodes, so that the page can report
 * them synchronously.
 */
export type WithMemory<Answer> = Answer & {
  readonly memory: NetworkMemory
  readonly foreign: readonly ForeignNode[]
}

/** The calls of a page. */
export interface NetworkService {
  load(request: NetworkRequest, port: MessagePort): Promise<WithMemory<NetworkInfo>>
  /** Without a port, the run cannot be aborted. */
  run(inputs: NamedTensors, port?: MessagePort): Promise<WithMemory<{ readonly outputs: NamedTensors }>>
  dispose(): Promise<void>
}
