// What crosses between a page and the worker of a network, and what both need to know of a loaded one.
import type { Build } from '../../core/runtime/features.ts'
import type { LoadRequest } from '../../engine/wire/protocol.ts'
import type { WeightPolicy } from '../compile/lower/policy.ts'
import type { ForeignNode } from '../compile/refusal.ts'
import type { NetworkLimits } from '../onnx/graph-budget.ts'
import type { DType, Tensor } from '../onnx/ir/tensor.ts'

/** An input or an output of a network. */
export interface NetworkValue {
  readonly name: string
  /** Undefined for an output whose type only a run shows. */
  readonly dtype: DType | undefined
  /**
   * Sizes; a text is a size that a run may choose, the same in all inputs that name it. Undefined where the
   * file does not say.
   */
  readonly dims: readonly (number | string)[] | undefined
}

/** Bytes that a network holds. */
export interface NetworkMemory {
  /** Linear memory: weights, and the values of the largest run so far. */
  readonly memoryBytes: number
  /** WebAssembly that was made for this network. */
  readonly codeBytes: number
}

export interface NetworkInfo {
  readonly inputs: readonly NetworkValue[]
  readonly outputs: readonly NetworkValue[]
  readonly build: Build
  readonly threads: number
}

/** How a network is run, wherever it is. */
export interface RunRequest {
  readonly build: Build | 'auto'
  readonly weights: WeightPolicy
  readonly threads: number | 'auto'
  /** Who runs the nodes that are not compiled. Absent: they are rejected. */
  readonly fallback?: NetworkFallback | undefined
  /** What the file may ask for. */
  readonly limits?: NetworkLimits | undefined
}

/** `ort`: onnxruntime-web. */
export type NetworkFallback = 'ort'

/** A load in a worker. */
export type NetworkRequest = Pick<LoadRequest, 'source' | 'cache' | 'hub' | 'dtype' | 'assets'> & RunRequest

/** Tensors by name. An object would have to treat the name `__proto__` apart. */
export type NamedTensors = readonly (readonly [name: string, tensor: Tensor])[]

/** The answer to a load, and to a run. The page is asked for its memory and its nodes without waiting. */
export type WithMemory<Answer> = Answer & {
  readonly memory: NetworkMemory
  readonly foreign: readonly ForeignNode[]
}

/** The calls of a page. */
export interface NetworkService {
  load(request: NetworkRequest, port: MessagePort): Promise<WithMemory<NetworkInfo>>
  run(inputs: NamedTensors, port: MessagePort): Promise<WithMemory<{ readonly outputs: NamedTensors }>>
  dispose(): Promise<void>
}
