// The loop of a compute worker that is a thread on shared memory, and its messages to and from the pool.
import { reasonOf } from '../base/errors.ts'
import { type EngineExports, instantiateEngine } from './module.ts'

/** From the pool to a compute worker. `start` comes first, and only once. */
export type ComputeRequest =
  | {
      readonly type: 'start'
      readonly module: WebAssembly.Module
      readonly memory: WebAssembly.Memory
      /** End of this thread's stack, which grows downward. */
      readonly stackTop: number
    }
  /** Keeps the worker in `serve` until the sync block's `quit` is set. */
  | { readonly type: 'serve'; readonly sync: number; readonly thread: number }

/** From a compute worker to the pool. */
export type ComputeReply =
  /** The module is instantiated, and the worker waits for `serve`. */
  | { readonly type: 'ready' }
  /** `serve` ended, as requested. */
  | { readonly type: 'idle' }
  /** A kernel trapped, or the module did not fit. The sync block is poisoned. */
  | { readonly type: 'failed'; readonly message: string }

/** Handles the requests to a compute worker. `post` sends replies to the pool. */
export function computeThread(post: (reply: ComputeReply) => void): (request: ComputeRequest) => void {
  let engine: EngineExports | undefined
  let serving = 0
  return (request) => {
    try {
      if (request.type === 'start') {
        engine = instantiateEngine(request.module, request.memory)
        engine.__stack_pointer.value = request.stackTop
        post({ type: 'ready' })
        return
      }
      if (engine === undefined) throw new Error('serve came before start')
      serving = request.sync
      engine.serve(request.sync, request.thread)
      serving = 0
      post({ type: 'idle' })
    } catch (error) {
      if (serving !== 0) engine?.poison(serving)
      post({ type: 'failed', message: reasonOf(error) })
    }
  }
}
