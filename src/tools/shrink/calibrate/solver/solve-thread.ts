// The thread of a solver crew: computes products and solves slabs and groups in the crew's shared memory.

import { HalfbyteError, reasonOf, type WireError } from '../../../../core/base/errors.ts'
import type { GridFormat } from '../../codes/coded-matrix.ts'
import type { Dense, Factor, GemmCall, Rows } from '../../matrix/factor.ts'
import { type Slab, type Solved, solveSlab } from '../../matrix/gptq.ts'
import { type GroupResult, type GroupTask, reserveGroup, solveGroup } from '../../prune/group-tasks.ts'
import { invertRows } from '../../prune/inverse.ts'
import type { CodeCall, CodeKernels } from '../products/code-kernels.ts'
import { codesIn, denseIn } from './solver-module.ts'

export type SolveRequest =
  /** `start`: the address of the thread's part of the memory. */
  | { readonly type: 'open'; module: WebAssembly.Module; memory: WebAssembly.Memory; start: number }
  | { readonly type: 'multiply'; calls: readonly GemmCall[] }
  | { readonly type: 'open-codes'; module: WebAssembly.Module; memory: WebAssembly.Memory; start: number }
  | { readonly type: 'multiply-codes'; calls: readonly CodeCall[] }
  | { readonly type: 'know'; factor: Omit<Factor, 'dense'>; drift: Rows<Float32Array> | undefined }
  | { readonly type: 'solve'; slab: Slab<GridFormat> }
  /** `inverse`: filled row by row for later groups. */
  | { readonly type: 'share'; inverse: Float64Array | undefined }
  | { readonly type: 'invert'; first: number; end: number }
  | { readonly type: 'group'; task: GroupTask }

/** The result of a slab or a group. */
export type SolveResult = Solved<GridFormat> | GroupResult

/** One reply per request, in order. */
export type SolveReply =
  | { readonly type: 'done'; result?: SolveResult | undefined }
  | { readonly type: 'failed'; error: WireError }

/** A worker of the solver, as its crew sees it. */
export interface SolvePort {
  postMessage(request: SolveRequest): void
  onMessage(listener: (reply: SolveReply) => void): void
  /** Called if the worker fails to load, throws outside its handler, or exits unexpectedly. */
  onError(listener: (error: Error) => void): void
  terminate(): void
}

/** Handles the requests to a worker. `post` sends replies. */
export function solveThread(post: (reply: SolveReply) => void): (request: SolveRequest) => void {
  let dense: Dense
  let codes: CodeKernels
  let known: { readonly factor: Factor; readonly drift: Rows<Float32Array> | undefined }
  let inverse: Float64Array | undefined
  const handle = (request: SolveRequest): SolveResult | undefined => {
    switch (request.type) {
      case 'open':
        dense = denseIn(request.module, request.memory, request.start)
        return undefined
      case 'multiply':
        for (const call of request.calls) dense.gemm(...call)
        return undefined
      case 'open-codes':
        codes = codesIn(request.module, request.memory, request.start)
        return undefined
      case 'multiply-codes':
        for (const call of request.calls) codes.add(call)
        return undefined
      case 'know':
        known = { factor: { ...request.factor, dense }, drift: request.drift }
        return undefined
      case 'solve':
        return solveSlab(request.slab, known.factor, known.drift)
      case 'share':
        inverse = request.inverse
        reserveGroup(known.factor)
        return undefined
      case 'invert':
        invertRows(known.factor, inverse as Float64Array, request.first, request.end)
        return undefined
      case 'group':
        return solveGroup(request.task, known.factor, inverse)
    }
  }
  return (request) => {
    try {
      post({ type: 'done', result: handle(request) })
    } catch (error) {
      const own = error instanceof HalfbyteError ? error : new HalfbyteError('internal', reasonOf(error))
      post({ type: 'failed', error: own.toWire() })
    }
  }
}
