// Halfbyte and its peers: what each engine is, which files it reads, and which part of the suite it runs.

import type { GraphForm } from './onnx/write.ts'

export type EngineName =
  | 'halfbyte'
  | 'halfbyte-simd128'
  | 'halfbyte-onnx-int4'
  | 'halfbyte-onnx-int8'
  | 'halfbyte-onnx-f32'
  | 'halfbyte-onnx-f32-bf16'
  | 'halfbyte-f16'
  | 'halfbyte-genai-int4'
  | 'halfbyte-tjs-q8'
  | 'halfbyte-optimum-f16'
  | 'halfbyte-optimum-f32'
  | 'llama.cpp'
  | 'wllama-3'
  | 'wllama-2'
  | 'ort-int8'
  | 'ort-int4'
  | 'ort-f32'
  | 'ort-f32-bf16'
  | 'ort-genai-int4'
  | 'ort-tjs-q8'
  | 'ort-optimum-f32'

export interface EngineKind {
  readonly name: EngineName
  /** Its name in tables. */
  readonly title: string
  /** Whether it runs in its own page or in its own process. */
  readonly place: 'page' | 'process'
  /** Its npm package, as Node resolves it; absent for Halfbyte itself. */
  readonly packageName?: string
  readonly model: 'gguf' | 'gguf-f16' | `onnx-${GraphForm}`
  /** The largest part of the suite that it runs. */
  readonly prompts: readonly number[]
  readonly decode: number
  readonly rounds: number
}

const FULL = { prompts: [64, 256, 512, 2048], decode: 128, rounds: 5 } as const
/** Slow engines would take hours. */
const SHORT = { prompts: [64, 512], decode: 32, rounds: 3 } as const

/** Halfbyte first: all others are compared with it. */
export const ENGINES: readonly EngineKind[] = [
  { name: 'halfbyte', title: 'Halfbyte', place: 'page', model: 'gguf', ...FULL },
  {
    name: 'halfbyte-simd128',
    title: 'Halfbyte, simd128',
    place: 'page',
    model: 'gguf',
    ...FULL,
    prompts: [64, 512],
    rounds: 3,
  },
  // The files that ONNX Runtime Web reads.
  { name: 'halfbyte-onnx-int4', title: 'Halfbyte, ONNX int4', place: 'page', model: 'onnx-int4', ...SHORT },
  { name: 'halfbyte-onnx-int8', title: 'Halfbyte, ONNX int8', place: 'page', model: 'onnx-int8', ...SHORT },
  { name: 'halfbyte-onnx-f32', title: 'Halfbyte, ONNX f32', place: 'page', model: 'onnx-f32', ...SHORT },
  {
    name: 'halfbyte-onnx-f32-bf16',
    title: 'Halfbyte, ONNX f32 of bf16',
    place: 'page',
    model: 'onnx-f32-bf16',
    ...SHORT,
  },
  {
    name: 'halfbyte-f16',
    title: 'Halfbyte, GGUF in F16',
    place: 'page',
    model: 'gguf-f16',
    ...SHORT,
    rounds: 5,
  },
  ...(['genai-int4', 'tjs-q8', 'optimum-f16', 'optimum-f32'] as const).map(
    (form): EngineKind => ({
      name: `halfbyte-${form}`,
      title: `Halfbyte, ${form}`,
      place: 'page',
      model: `onnx-${form}`,
      ...SHORT,
      rounds: 5,
    }),
  ),
  {
    name: 'llama.cpp',
    title: 'llama.cpp, native',
    place: 'process',
    model: 'gguf',
    packageName: '@node-llama-cpp/linux-x64',
    ...FULL,
  },
  {
    name: 'wllama-3',
    title: 'wllama',
    place: 'page',
    model: 'gguf',
    packageName: '@wllama/wllama',
    ...SHORT,
  },
  {
    name: 'wllama-2',
    title: 'wllama',
    place: 'page',
    model: 'gguf',
    packageName: 'wllama-2',
    ...SHORT,
  },
  {
    name: 'ort-int8',
    title: 'ONNX Runtime Web, int8',
    place: 'page',
    model: 'onnx-int8',
    packageName: 'onnxruntime-web',
    ...SHORT,
  },
  {
    name: 'ort-int4',
    title: 'ONNX Runtime Web, int4',
    place: 'page',
    model: 'onnx-int4',
    packageName: 'onnxruntime-web',
    ...SHORT,
  },
  {
    name: 'ort-f32',
    title: 'ONNX Runtime Web, f32',
    place: 'page',
    model: 'onnx-f32',
    packageName: 'onnxruntime-web',
    ...SHORT,
  },
  {
    name: 'ort-f32-bf16',
    title: 'ONNX Runtime Web, f32 of bf16',
    place: 'page',
    model: 'onnx-f32-bf16',
    packageName: 'onnxruntime-web',
    ...SHORT,
  },
  ...(['genai-int4', 'tjs-q8', 'optimum-f32'] as const).map(
    (form): EngineKind => ({
      name: `ort-${form}`,
      title: `ONNX Runtime Web, ${form}`,
      place: 'page',
      model: `onnx-${form}`,
      packageName: 'onnxruntime-web',
      ...SHORT,
    }),
  ),
]

export const isHalfbyte = ({ name }: { readonly name: EngineName }): boolean => name.startsWith('halfbyte')
/** The engine with which all others are compared. */
export const OURS: EngineName = 'halfbyte'
/** Number of positions that every engine allocates. */
export const CONTEXT = 2304

/** One run: a prompt, then greedy tokens. */
export interface Run {
  readonly promptTokens: number
  /** From the call to the first token. */
  readonly prefillMs: number
  readonly decodedTokens: number
  /** From the first token to the last. */
  readonly decodeMs: number
  /** The decoded tokens. */
  readonly ids: readonly number[]
}

/**
 * The second turn of a conversation: how many tokens the engine reports as processed before its first token,
 * and how long that took.
 */
export interface Turn {
  readonly readTokens: number
  readonly ms: number
}

/** What a page should load; addresses are absolute. */
export interface LoadOrder {
  readonly engine: EngineName
  readonly threads: number
  /** The GGUF file, or the ONNX model. */
  readonly modelUrl: string
  /** The files of the ONNX model's weights. */
  readonly dataUrls?: readonly string[]
  /** The folder of the engine's package. */
  readonly packageUrl?: string
  /** Layers, KV heads and head size, for engines whose caller holds the state. */
  readonly state: { readonly layers: number; readonly kvHeads: number; readonly headDim: number }
}
