// Host. In: nothing. Out: the interface through which the core reaches workers, clocks and module files.
import type { Notes } from '../store/device/notes.ts'
import type { ComputeReply, ComputeRequest } from './compute-thread.ts'
import type { Build, FeatureGlobals, MemoryKind } from './features.ts'
import type { ShardReply, ShardRequest } from './shards/messages.ts'

/** What a compute worker is told: it becomes a thread on shared memory or a shard by the first message. */
export type WorkerRequest = ComputeRequest | ShardRequest
export type WorkerReply = ComputeReply | ShardReply

/** A compute worker as the pool sees it. */
export interface ComputePort {
  /** What is in `transfer` is given away. */
  postMessage(message: WorkerRequest, transfer?: Transferable[]): void
  onMessage(listener: (message: WorkerReply) => void): void
  /** The worker failed to load, threw outside its own handler, or ended without being told to. */
  onError(listener: (error: Error) => void): void
  terminate(): void
}

/** One of the notes. */
export interface Note {
  read(): Promise<unknown>
  write(value: unknown): void
}

/** What a page, a worker or a process offers. One implementation for browsers, one for Node. */
export interface Host {
  readonly globals: FeatureGlobals
  /** Logical cores; a hint, at least 1. */
  readonly cores: number
  /** Memory of the whole device in bytes, where it is known to be all there is. */
  readonly deviceBytes?: number | undefined
  /** Milliseconds from an arbitrary start, never going back. */
  now(): number
  /** Fetches and compiles one of the engine's modules. Throws `network` when it cannot be had. */
  loadModule(build: Build, memory: MemoryKind): Promise<WebAssembly.Module>
  /** Lets messages, timers and aborts in; resolves in a new task. */
  yieldTask(): Promise<void>
  /** Absent where nothing is kept. */
  readonly notes?: Notes | undefined
  /** Absent where workers cannot be started. */
  startWorker?(): ComputePort
}
