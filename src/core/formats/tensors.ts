// The types of the data in a file's header: dtypes, shapes and byte ranges of tensors.
import type { PackedEncoding } from '../abi/encodings.ts'
import type { ByteSource } from '../base/bytes.ts'
import type { Coding } from './coded-group.ts'
import { malformed, shown } from './malformed.ts'

/** Two tensors never share bytes, so a header that says otherwise is wrong. */
export function checkOverlap(file: string, tensors: readonly TensorInfo[]): void {
  let last: TensorInfo | undefined
  for (const tensor of [...tensors].sort((a, b) => a.offset - b.offset)) {
    if (last !== undefined && tensor.offset < last.offset + last.byteLength) {
      throw malformed(file, `${shown(tensor.name)} begins at ${tensor.offset}, inside ${shown(last.name)}`)
    }
    last = tensor
  }
}

/** How a tensor's elements are stored in its file. The names are as in GGUF and safetensors. */
export type DType = 'F32' | 'F16' | 'BF16' | 'Q8_0' | 'Q4_0' | 'Q4_1' | CodedDType

/** GGUF dtypes that are read group by group, as codes with one or two scales. */
export type CodedDType =
  | 'Q8_1'
  | 'Q5_0'
  | 'Q5_1'
  | 'Q2_K'
  | 'Q3_K'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K'
  | 'IQ1_S'
  | 'IQ1_M'
  | 'IQ2_XXS'
  | 'IQ2_XS'
  | 'IQ2_S'
  | 'IQ3_XXS'
  | 'IQ3_S'
  | 'IQ4_NL'
  | 'IQ4_XS'
  | 'Q1_0'
  | 'Q2_0'
  | 'TQ1_0'
  | 'TQ2_0'
  | 'MXFP4'
  | 'NVFP4'

/** A stored tensor. Rows are contiguous along the last dimension (inputs of a projection). */
export interface TensorInfo {
  readonly name: string
  /** For a packed tensor: the dtype whose values its encoding holds without loss. */
  readonly dtype: DType
  /** Outermost first: a projection is [outputs, inputs], whatever order the file's header uses. */
  readonly shape: readonly number[]
  readonly source: ByteSource
  /** First byte in `source`. */
  readonly offset: number
  readonly byteLength: number
  /**
   * Present if the bytes already have a layout of wasm/core/abi.h (matrices in panels, vectors padded to
   * 32).
   */
  readonly packed?: PackedEncoding | undefined
  /** How to read its groups, for a CodedDType that is not packed. */
  readonly coding?: Coding | undefined
  /** A change to each value after it is read as f32. Only tensors that stay f32 have one. */
  readonly change?: ValueChange | undefined
  /** For an F32 tensor that is computed as it is read: the dtype that decides its encoding. */
  readonly like?: DType | undefined
  /**
   * If reading is more than copying: how the file stores the tensor and what is lost, as a phrase for people.
   */
  readonly origin?: string | undefined
  /**
   * The same matrix with its inputs sorted, and their original order as F32. For kernels that read int8
   * activations.
   */
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
