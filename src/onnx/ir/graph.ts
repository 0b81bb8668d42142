// The dialect. In: nothing. Out: graphs of nodes over ranked tensors, as ONNX has them: values by name,
// constants, symbolic dims, attributes.
import type { ByteSource } from '../../base/bytes.ts'
import type { Dim } from './dims.ts'
import type { DType, Tensor } from './tensor.ts'

/** '' is ONNX's own domain; 'com.microsoft' has the operators of ONNX Runtime. */
export type Domain = string

/**
 * Whole numbers beyond 2^53 are cut to 2^53: exporters write INT64_MAX where they mean the end of a
 * dimension.
 */
export type Attribute =
  | { readonly kind: 'int'; readonly value: number }
  | { readonly kind: 'ints'; readonly value: readonly number[] }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'floats'; readonly value: readonly number[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'tensor'; readonly value: Tensor }
  | { readonly kind: 'graph'; readonly value: Graph }
export type AttributeKind = Attribute['kind']

export interface Node {
  /** The file's name for it, or its first output's. For messages. */
  readonly name: string
  readonly op: string
  readonly domain: Domain
  /** Opset of the node's domain. */
  readonly version: number
  /** '' where an optional input is left out. */
  readonly inputs: readonly string[]
  /** '' where an output is not wanted. */
  readonly outputs: readonly string[]
  readonly attributes: ReadonlyMap<string, Attribute>
}

/** What is known of a value. */
export interface Type {
  readonly dtype: DType
  /** Absent: the rank is not known. */
  readonly dims?: readonly Dim[] | undefined
  /** Elements in row order, where they are known. Only of integers: sizes, indices, axes. */
  readonly elements?: readonly Dim[] | undefined
}

export interface Input {
  readonly name: string
  /** Absent: the file does not say. Only inputs of graphs in attributes may lack it. */
  readonly type?: Type | undefined
}

/** A constant that stays in its file until its rows are wanted. */
export interface StoredTensor {
  readonly dtype: DType
  readonly dims: readonly number[]
  readonly source: ByteSource
  /** First byte in `source`. */
  readonly offset: number
  readonly byteLength: number
  /** The same values as bf16, for f32 that all are. */
  readonly bfloats?: ByteSource
}

export type Constant = Tensor | StoredTensor
export const isStored = (constant: Constant): constant is StoredTensor => 'source' in constant

/**
 * Nodes in an order in which each reads only what is there: inputs, constants, outputs of earlier nodes, and,
 * for the graph of an attribute, what the graphs around it have. Every name is made once.
 */
export interface Graph {
  readonly name: string
  readonly inputs: readonly Input[]
  readonly outputs: readonly string[]
  readonly constants: ReadonlyMap<string, Constant>
  readonly nodes: readonly Node[]
}

/** Whether the node has this input: one that is left out has no name. */
export const hasInput = ({ inputs }: Pick<Node, 'inputs'>, index: number): boolean =>
  (inputs[index] ?? '') !== ''
