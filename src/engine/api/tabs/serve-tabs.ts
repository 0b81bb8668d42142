// The leading tab's side: answers the messages of other tabs with the engine of this one.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { StreamCommand } from '../../wire/protocol.ts'
import { type Feed, isLast, reportingSink } from '../../wire/reply-stream.ts'
import { toFailure } from '../../wire/wire-failure.ts'
import type { LocalEngine } from './local-host.ts'
import { type CallName, SESSION_ARGUMENTS, type TabMessage, type Unsent } from './tab-messages.ts'

/** The leader's own sessions are numbered from 1. */
const FIRST_SESSION = 2 ** 32

interface Guest {
  readonly aborts: Map<number, AbortController>
  readonly commands: Map<number, (command: StreamCommand) => void>
  /** The engine's session numbers, by the tab's own numbers. */
  readonly sessions: Map<number, number>
}

export class TabServer {
  readonly #engine: LocalEngine
  readonly #post: (message: Unsent) => void
  readonly #guests = new Map<string, Guest>()
  #lastSession = FIRST_SESSION

  constructor(engine: LocalEngine, post: (message: Unsent) => void) {
    this.#engine = engine
    this.#post = post
  }

  hear(message: TabMessage): void {
    const guest = this.#guestOf(message.from)
    const to = message.from
    // A frozen page still receives messages, but its timers stop, and so does the engine's worker.
    if (message.type === 'ping') setTimeout(() => this.#post({ type: 'pong', to }))
    else if (message.type === 'call') void this.#answer(guest, message)
    else if (message.type === 'abort') guest.aborts.get(message.id)?.abort()
    else if (message.type === 'command') guest.commands.get(message.id)?.(message.command)
    else if (message.type === 'generate') this.#generate(guest, message)
    else if (message.type === 'garbled') this.#refuse(message)
  }

  /** Called when a tab has ended: cancels its replies and frees its sessions. */
  drop(tab: string): void {
    const guest = this.#guests.get(tab)
    this.#guests.delete(tab)
    if (guest === undefined) return
    for (const abort of guest.aborts.values()) abort.abort()
    for (const command of guest.commands.values()) command({ type: 'cancel' })
    const { signal } = new AbortController()
    for (const session of guest.sessions.values())
      this.#engine.call('close', [session], signal).catch(() => undefined)
  }

  #guestOf(tab: string): Guest {
    const guest = this.#guests.get(tab) ?? { aborts: new Map(), commands: new Map(), sessions: new Map() }
    this.#guests.set(tab, guest)
    return guest
  }

  #sessionOf({ sessions }: Guest, session: number): number {
    const own = sessions.get(session) ?? ++this.#lastSession
    sessions.set(session, own)
    return own
  }

  /** Rejects a request, because its tab waits for an answer. */
  #refuse({ from: to, id, of }: Extract<TabMessage, { type: 'garbled' }>): void {
    const failure = toFailure(unread(of))
    if (of === 'call') this.#post({ type: 'refused', to, id, failure })
    if (of === 'generate') this.#post({ type: 'report', to, id, report: { type: 'failed', failure } })
  }

  async #answer(guest: Guest, message: Extract<TabMessage, { type: 'call' }>): Promise<void> {
    const { from: to, id, name, args } = message
    const abort = new AbortController()
    guest.aborts.set(id, abort)
    try {
      const value = await this.#engine.call(name, this.#mapped(guest, name, args), abort.signal)
      if (name === 'close') guest.sessions.delete(args[0] as number)
      this.#post({ type: 'answer', to, id, value })
    } catch (error) {
      // A tab that no longer leads leaves the answer to the new leader.
      if (!isLost(error)) this.#post({ type: 'refused', to, id, failure: toFailure(error) })
    } finally {
      guest.aborts.delete(id)
    }
  }

  #mapped(guest: Guest, name: CallName, args: readonly unknown[]): readonly unknown[] {
    const count = SESSION_ARGUMENTS[name] ?? 0
    return args.map((arg, index) => (index < count ? this.#sessionOf(guest, arg as number) : arg))
  }

  #generate(guest: Guest, message: Extract<TabMessage, { type: 'generate' }>): void {
    const { from: to, id, request } = message
    const { commands } = guest
    // Our tabs never send the same id twice. If one did, the first stream would wait for credit forever.
    commands.get(id)?.({ type: 'cancel' })
    let feed: Feed | undefined
    const command = (it: StreamCommand) => (it.type === 'credit' ? feed?.credit(it.count) : feed?.cancel())
    commands.set(id, command)
    const forget = () => {
      if (commands.get(id) === command) commands.delete(id)
    }
    const sink = reportingSink((report) => {
      if (isLast(report)) forget()
      this.#post({ type: 'report', to, id, report })
    })
    const { session } = request
    const own = session === undefined ? undefined : this.#sessionOf(guest, session)
    try {
      const fail = (error: unknown) => (isLost(error) ? forget() : sink.fail(error))
      feed = this.#engine.generate({ ...request, session: own }, { ...sink, fail })
    } catch (error) {
      sink.fail(error)
    }
  }
}

const isLost = (error: unknown): boolean => (error as Error)?.name === 'Lost'

const unread = (of: string): HalfbyteError =>
  new HalfbyteError('unsupported', `the tab with the model cannot read this ${of}; reload both tabs`, { of })
