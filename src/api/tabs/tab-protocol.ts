// Tab protocol. In: nothing. Out: what the tabs of a site that share an engine tell each other, on one
// BroadcastChannel, as types. tab-messages.ts reads what arrives.
//
//   follower                                  leader
//   who             ----- to all ---------->
//                   <---- to all -----------  leader
//   call            ----------------------->
//   abort           ----------------------->
//                   <-----------------------  answer or refused
//                   <---- to all -----------  progress
//   generate        ----------------------->
//   command         ----------------------->  credit, cancel
//                   <-----------------------  report: chunks, then one end or failure
//   ping            ----------------------->
//                   <-----------------------  pong
import type {
  GenerateRequest,
  LoadProgress,
  StreamCommand,
  StreamReport,
  WireFailure,
} from '../../engine/wire/protocol.ts'
import type { Feed, Sink } from '../../engine/wire/stream.ts'

/**
 * Part of the names of the channel and of the locks: tabs of another version neither hear these nor wait for
 * them. It changes whenever a message here or in wire/protocol.ts means something else than before.
 */
export const TABS_VERSION = 2

/** Calls of the engine service that have one answer. Those with a port can be aborted. */
export const CALLS = {
  load: { hasPort: true },
  countTokens: { hasPort: false },
  tokenize: { hasPort: false },
  detokenize: { hasPort: false },
  score: { hasPort: true },
  embed: { hasPort: true },
  memory: { hasPort: false },
  fork: { hasPort: false },
  save: { hasPort: true },
  store: { hasPort: true },
  restore: { hasPort: true },
  close: { hasPort: false },
} as const

export type CallName = keyof typeof CALLS

/** Calls that name sessions, and how many of their first arguments are such. */
export const SESSION_ARGUMENTS: { readonly [Name in CallName]?: number } = {
  fork: 2,
  save: 1,
  store: 1,
  restore: 1,
  close: 1,
}

export type TabMessage = { readonly from: string; readonly to?: string } & (
  | { readonly type: 'who' | 'leader' | 'ping' | 'pong' }
  | { readonly type: 'call'; readonly id: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly failure: WireFailure }
  | { readonly type: 'progress'; readonly progress: LoadProgress }
  | { readonly type: 'generate'; readonly id: number; readonly request: GenerateRequest }
  | { readonly type: 'command'; readonly id: number; readonly command: StreamCommand }
  | { readonly type: 'report'; readonly id: number; readonly report: StreamReport }
  /** Never sent: a message of the type `of` that could not be read. */
  | { readonly type: 'garbled'; readonly id: number; readonly of: string }
)

/** Before the sender is written on it. */
export type Unsent =
  Exclude<TabMessage, { readonly type: 'garbled' }> extends infer Each
    ? Each extends TabMessage
      ? Omit<Each, 'from'>
      : never
    : never

/** What answers: the engine of this tab, or that of another. */
export interface Host {
  /** Rejects with an error of the engine, with the signal's reason, or with `Lost`. */
  call(name: CallName, args: readonly unknown[], signal: AbortSignal): Promise<unknown>
  /** A sink may fail with `Lost`. */
  generate(request: GenerateRequest, sink: Sink): Feed
  /** Ends it here: everything pending fails with `Lost`. */
  lose(): void
}

/** The tab that had the engine is gone. Another takes over, so the same may be asked again. */
export class Lost extends Error {
  override name = 'Lost'
}
