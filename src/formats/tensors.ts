// TensorIndex. In: what a reader found in a file's header. Out: name -> dtype, shape, byte range; no data.
import type { PackedEncoding } from '../abi/encodings.ts'
import type { ByteSource } from '../base/bytes.ts'

/** How a tensor's elements are stored in its file. Names are the GGUF and safetensors ones. */
export type DType = 'F32' | 'F16' | 'BF16' | 'Q8_0' | 'Q4_0' | 'Q4_1' | CodedDType

/** Those of GGUF that are read group by group: codes under one or two scales. */
export type CodedDType =
  | 'Q5_0'
  | 'Q5_1'
  | 'Q2_K'
  | 'Q3_K'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K'
  | 'IQ4_NL'
  | 'IQ4_XS'
  | 'TQ1_0'
  | 'TQ2_0'
  | 'MXFP4'

/** One stored tensor. Rows are contiguous along the last dimension (inputs of a projection). */
export interface TensorInfo {
  readonly name: string
  /** For a packed tensor the dtype whose values its encoding holds without loss. */
  readonly dtype: DType
  /** Outermost first: a projection is [outputs, inputs], whatever order the file's header uses. */
  readonly shape: readonly number[]
  readonly source: ByteSource
  /** First byte in `source`. */
  readonly offset: number
  readonly byteLength: number
  /** Present when the bytes already lie as wasm/core/abi.h says (matrices in panels, vectors padded to 32). */
  readonly packed?: PackedEncoding | undefined
  /** What each value becomes once it is read as f32; only tensors that are kept as f32 have it. */
  readonly change?: ValueChange | undefined
  /** F32 that is made while it is read: the dtype by which its encoding is chosen. */
  readonly like?: DType | undefined
  /** The same with its inputs sorted, and the place that each had, as F32: for kernels that read int8 activations. */
  readonly sorted?: { readonly tensor: TensorInfo; readonly order: TensorInfo } | undefined
}

/** `scale * value + offset`, or `scale * e^value + offset`. */
export interface ValueChange {
  readonly scale: number
  readonly exp?: boolean
  /** Default 0. */
  readonly offset?: number
}

export type TensorIndex = ReadonlyMap<string, TensorInfo>

/** A typed value of a GGUF header or a JSON configuration. */
export type MetaValue =
  | string
  | number
  | boolean
  | readonly MetaValue[]
  | { readonly [key: string]: MetaValue }
