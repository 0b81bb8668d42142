// The host: the interface through which the engine uses workers, clocks and module files.
import type { ByteSource } from '../base/bytes.ts'
import type { GraphDtype } from '../formats/names/graph-files.ts'
import type { InnerPath } from '../formats/names/named-files.ts'
import type { Pixels } from '../formats/pixels.ts'
import type { LoadReaders, ModelFile } from '../formats/readers.ts'
import type { GraphBuilder } from '../graph/builder.ts'
import type { Notes } from '../store/device/notes.ts'
import type { CutPicture, CutRules } from '../vision/cut-picture.ts'
import type { ComputeReply, ComputeRequest } from './compute-thread.ts'
import type { Build, FeatureGlobals, MemoryKind } from './features.ts'
import type { FunctionRequest } from './functions/function-thread.ts'
import type { ShardReply, ShardRequest } from './shards/shard-messages.ts'

/** A request to a compute worker. The first message makes the worker a thread on shared memory or a shard. */
export type ModelRequest = ComputeRequest | ShardRequest
/** The workers of a network are threads that run its functions. */
export type WorkerRequest = ModelRequest | FunctionRequest
export type WorkerReply = ComputeReply | ShardReply

/** The pool's interface to a compute worker. */
export interface ComputePort {
  /** Objects in `transfer` are transferred. */
  postMessage(message: WorkerRequest, transfer?: Transferable[]): void
  onMessage(listener: (message: WorkerReply) => void): void
  /** Called when the worker fails to load, throws outside its own handler, or ends unexpectedly. */
  onError(listener: (error: Error) => void): void
  terminate(): void
}

/** The exports of the ONNX reader's script. */
interface OnnxReader {
  /**
   * `newGraph` creates the graph of the step, with the engine's own nodes. `beside` finds a file next to the
   * graph by its path; undefined if it is missing. `bfloats`: whether to read f32 matrices as bf16 if all
   * their values fit. `dtype`: the precision of the graph if the sources have several. Throws `format` for
   * damaged files, `unsupported` for a graph that is not a decoder's step.
   */
  openOnnx(
    sources: readonly ByteSource[],
    options: {
      readonly newGraph: () => GraphBuilder
      readonly signal?: AbortSignal | undefined
      readonly beside?: ((path: InnerPath) => Promise<ByteSource | undefined>) | undefined
      readonly bfloats?: boolean | undefined
      readonly dtype?: GraphDtype | undefined
    },
  ): Promise<ModelFile>
}

/** A stored value. */
export interface Note {
  read(): Promise<unknown>
  write(value: unknown): void
}

/** The services of a page, a worker or a process. One implementation is for browsers and one for Node. */
export interface Host extends LoadReaders {
  readonly globals: FeatureGlobals
  /** Logical cores: a hint, at least 1. */
  readonly cores: number
  /** Memory of the whole device in bytes. Absent if it is not known exactly. */
  readonly deviceBytes?: number | undefined
  /** Milliseconds since an arbitrary moment. Never goes back. */
  now(): number
  /** Fetches and compiles one of the engine's modules. Throws `network` if it cannot be fetched. */
  loadModule(build: Build, memory: MemoryKind): Promise<WebAssembly.Module>
  /** Lets pending messages, timers and aborts run. Resolves in a new task. */
  yieldTask(): Promise<void>
  /** Absent if nothing can be stored. */
  readonly notes?: Notes | undefined
  /**
   * The reader of ONNX models, loaded when the first one is opened. Rejects like the loading of other
   * readers.
   */
  loadOnnx(): Promise<OnnxReader>
  /** The engine's part for vision models, loaded with the first one. Rejects like `loadOnnx`. */
  loadVision(): Promise<unknown>
  /** The embedder's part for encoders in ONNX graphs, loaded with the first one. Rejects like `loadOnnx`. */
  loadGraphEncoders(): Promise<unknown>
  /**
   * Decodes an image file, if given one, and splits the image into tiles on another thread. Rejects with a
   * HalfbyteError, the signal's reason, or an `Error` that says why the file cannot be decoded. Absent if the
   * browser decodes images.
   */
  readonly cutPicture?:
    | ((picture: Uint8Array | Pixels, rules: CutRules, signal?: AbortSignal) => Promise<CutPicture>)
    | undefined
  /** Absent if workers cannot be started. */
  startWorker?(): ComputePort
}
