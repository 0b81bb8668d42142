// The leader's side. In: messages of other tabs. Out: answers of the engine in this one.
import { HalfbyteError } from '../../base/errors.ts'
import { toFailure } from '../../engine/wire/failure.ts'
import type { StreamCommand, StreamReport } from '../../engine/wire/protocol.ts'
import type { Feed } from '../../engine/wire/stream.ts'
import type { LocalEngine } from './local-host.ts'
import { type CallName, SESSION_ARGUMENTS, type TabMessage, type Unsent } from './tab-messages.ts'

export interface TabServer {
  hear(message: TabMessage): void
  /** A tab has ended: its replies are cancelled and its sessions freed. */
  drop(tab: string): void
}

/** The leader's own sessions count from 1. */
const FIRST_SESSION = 2 ** 32

interface Guest {
  readonly aborts: Map<number, AbortController>
  readonly commands: Map<number, (command: StreamCommand) => void>
  /** The engine's numbers of the sessions, by the tab's own. */
  readonly sessions: Map<number, number>
}

export function serveTabs(engine: LocalEngine, post: (message: Unsent) => void): TabServer {
  const guests = new Map<string, Guest>()
  let lastSession = FIRST_SESSION
  const guestOf = (tab: string): Guest => {
    const guest = guests.get(tab) ?? { aborts: new Map(), commands: new Map(), sessions: new Map() }
    guests.set(tab, guest)
    return guest
  }
  const sessionOf = ({ sessions }: Guest, session: number): number => {
    const own = sessions.get(session) ?? ++lastSession
    sessions.set(session, own)
    return own
  }
  return {
    hear(message) {
      const guest = guestOf(message.from)
      const to = message.from
      // In a frozen page messages are heard, but timers stand still, as the engine's worker does.
      if (message.type === 'ping') setTimeout(() => post({ type: 'pong', to }))
      else if (message.type === 'call') void answer(guest, message)
      else if (message.type === 'abort') guest.aborts.get(message.id)?.abort()
      else if (message.type === 'command') guest.commands.get(message.id)?.(message.command)
      else if (message.type === 'generate') generate(guest, message)
      else if (message.type === 'garbled') refuse(message)
    },
    drop(tab) {
      const guest = guests.get(tab)
      guests.delete(tab)
      if (guest === undefined) return
      for (const abort of guest.aborts.values()) abort.abort()
      for (const command of guest.commands.values()) command({ type: 'cancel' })
      const { signal } = new AbortController()
      for (const session of guest.sessions.values())
        engine.call('close', [session], signal).catch(() => undefined)
    },
  }

  /** Somebody waits for what comes of an id. */
  function refuse({ from: to, id, of }: Extract<TabMessage, { type: 'garbled' }>): void {
    const failure = toFailure(unread(of))
    if (of === 'call') post({ type: 'refused', to, id, failure })
    if (of === 'generate') post({ type: 'report', to, id, report: { type: 'failed', failure } })
  }

  async function answer(guest: Guest, message: Extract<TabMessage, { type: 'call' }>): Promise<void> {
    const { from: to, id, name, args } = message
    const abort = new AbortController()
    guest.aborts.set(id, abort)
    try {
      const value = await engine.call(name, mapped(guest, name, args), abort.signal)
      if (name === 'close') guest.sessions.delete(args[0] as number)
      post({ type: 'answer', to, id, value })
    } catch (error) {
      // A tab that is no longer the leader leaves the answer to the one that is.
      if ((error as Error)?.name !== 'Lost') post({ type: 'refused', to, id, failure: toFailure(error) })
    } finally {
      guest.aborts.delete(id)
    }
  }

  function mapped(guest: Guest, name: CallName, args: readonly unknown[]): readonly unknown[] {
    const count = SESSION_ARGUMENTS[name] ?? 0
    return args.map((arg, index) => (index < count ? sessionOf(guest, arg as number) : arg))
  }

  function generate(guest: Guest, message: Extract<TabMessage, { type: 'generate' }>): void {
    const { from: to, id, request } = message
    const report = (it: StreamReport) => post({ type: 'report', to, id, report: it })
    // The same id twice comes from no tab of ours; the first stream would otherwise wait for credit for ever.
    guest.commands.get(id)?.({ type: 'cancel' })
    let feed: Feed | undefined
    const command = (it: StreamCommand) => (it.type === 'credit' ? feed?.credit(it.count) : feed?.cancel())
    guest.commands.set(id, command)
    const forget = () => {
      if (guest.commands.get(id) === command) guest.commands.delete(id)
    }
    const end = (it: StreamReport) => {
      forget()
      report(it)
    }
    const { session } = request
    try {
      feed = engine.generate(
        { ...request, session: session === undefined ? undefined : sessionOf(guest, session) },
        {
          chunk: (chunk) => report({ type: 'chunk', chunk }),
          end: (outcome, contextUsed) => end({ type: 'end', outcome, contextUsed }),
          fail: (error) => {
            if ((error as Error)?.name === 'Lost') forget()
            else end({ type: 'failed', failure: toFailure(error) })
          },
        },
      )
    } catch (error) {
      end({ type: 'failed', failure: toFailure(error) })
    }
  }
}

const unread = (of: string): HalfbyteError =>
  new HalfbyteError('unsupported', `the tab with the model cannot read this ${of}; reload both tabs`, { of })
