// The code of a compute worker that runs a network's steps together with the thread that owns the network.
import { reasonOf } from '../../base/errors.ts'
import type { ComputeReply } from '../compute-thread.ts'
import { instantiateEngine } from '../module.ts'
import { serveRuns, type WorkerState } from './gate.ts'
import { addFunctions } from './step-list.ts'

/** From a pool to a compute worker. `functions` comes first, and only once. */
export type FunctionRequest =
  | {
      readonly type: 'functions'
      readonly module: WebAssembly.Module
      readonly memory: WebAssembly.Memory
      /** End of this thread's stack, which grows downward. */
      readonly stackTop: number
      readonly sync: number
      readonly gate: number
      readonly thread: number
      readonly threads: number
      /** How long to wait for the next run before the next message, in milliseconds. */
      readonly waitMs: number
    }
  /** Functions of a network, called by their numbers from now on. */
  | { readonly type: 'code'; readonly code: WebAssembly.Module }
  /** A run has opened, and may have ended. Sent only to workers that are not waiting for one. */
  | { readonly type: 'steps' }

export const isFunctionRequest = <Other extends { readonly type: string }>(
  request: Other | FunctionRequest,
): request is FunctionRequest =>
  request.type === 'functions' || request.type === 'code' || request.type === 'steps'

/** Handles these requests. `post` sends replies to the pool. */
export function functionThread(post: (reply: ComputeReply) => void): (request: FunctionRequest) => void {
  let state: WorkerState | undefined
  return (request) => {
    try {
      if (request.type === 'functions') {
        const { module, memory, stackTop, sync, gate, thread, threads, waitMs } = request
        const engine = instantiateEngine(module, memory)
        engine.__stack_pointer.value = stackTop
        state = { engine, functions: [], sync, gate, memory, thread, threads, waitMs, joined: 0 }
        post({ type: 'ready' })
        return
      }
      if (state === undefined) throw new Error(`${request.type} came before functions`)
      if (request.type === 'code') addFunctions(state, request.code)
      serveRuns(state)
    } catch (error) {
      if (state !== undefined) state.engine.poison(state.sync)
      post({ type: 'failed', message: reasonOf(error) })
    }
  }
}
