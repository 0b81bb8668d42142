// Compute thread. In: a module, a shared memory and a place on it. Out: the loop that serves a pool, and the messages around it.
import { reasonOf } from '../base/errors.ts'
import { type EngineExports, instantiateEngine } from './module.ts'

/** From the pool to a compute worker. `start` comes once and first. */
export type ComputeRequest =
  | {
      readonly type: 'start'
      readonly module: WebAssembly.Module
      readonly memory: WebAssembly.Memory
      /** End of this thread's stack, which grows down. */
      readonly stackTop: number
    }
  /** Blocks the worker in `serve` until the sync block's `quit` is set. */
  | { readonly type: 'serve'; readonly sync: number; readonly thread: number }

/** From a compute worker to the pool. */
export type ComputeReply =
  /** Instantiated; waits for `serve`. */
  | { readonly type: 'ready' }
  /** `serve` ended because it was told to. */
  | { readonly type: 'idle' }
  /** A kernel trapped or the module did not fit; the sync block is poisoned. */
  | { readonly type: 'failed'; readonly message: string }

/** What a compute worker does with each request; `post` answers the pool. */
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
