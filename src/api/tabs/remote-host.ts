// The engine of another tab. In: the channel of the tabs, the leader's id. Out: a host that asks it.
import { HalfbyteError } from '../../base/errors.ts'
import { fromFailure } from '../../engine/wire/failure.ts'
import { type Host, isAnswer, Lost, type TabMessage, type Unsent } from './tab-messages.ts'

/** Between two questions whether the leader is there, while something is pending. */
const PING_MS = 2000
/** Questions without an answer after which a leader counts as lost: its tab may be frozen. */
const SILENT_PINGS = 5

export interface RemoteHost extends Host {
  /** Messages of the leader to this tab. */
  hear(message: TabMessage): void
}

interface Pending {
  hear(message: TabMessage): void
  lose(): void
}

/** `onSilence` is called when the leader does not answer. */
export function remoteHost(
  post: (message: Unsent) => void,
  leader: string,
  onSilence: () => void,
): RemoteHost {
  const pending = new Map<number, Pending>()
  // Nobody else knows the ids: an answer that is late, or forged, meets no other question.
  let nextId = (crypto.getRandomValues(new Uint32Array(1))[0] as number) * 2 ** 20
  let isLost = false
  let unanswered = 0
  let timer: ReturnType<typeof setInterval> | undefined
  const settle = (id: number) => {
    pending.delete(id)
    if (pending.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  const ping = () => {
    if (unanswered++ < SILENT_PINGS) post({ type: 'ping', to: leader })
    else onSilence()
  }
  const begin = (it: Pending): number => {
    const id = nextId++
    pending.set(id, it)
    timer ??= setInterval(ping, PING_MS)
    return id
  }
  return {
    call: (name, args, signal) =>
      new Promise((resolve, reject) => {
        if (isLost) throw new Lost()
        signal.throwIfAborted()
        const abort = () => {
          post({ type: 'abort', to: leader, id })
          end(() => reject(signal.reason))
        }
        const end = (act: () => void) => {
          signal.removeEventListener('abort', abort)
          settle(id)
          act()
        }
        const id = begin({
          hear(message) {
            if (message.type === 'answer' && isAnswer(name, message.value)) end(() => resolve(message.value))
            else if (message.type === 'answer' || message.type === 'garbled') end(() => reject(unread()))
            if (message.type === 'refused') end(() => reject(fromFailure(message.failure)))
          },
          lose: () => end(() => reject(new Lost())),
        })
        signal.addEventListener('abort', abort)
        post({ type: 'call', to: leader, id, name, args })
      }),
    generate(request, sink) {
      const id = begin({
        hear(message) {
          if (message.type === 'garbled') {
            settle(id)
            sink.fail(unread())
          }
          if (message.type !== 'report') return
          const { report } = message
          if (report.type === 'chunk') return sink.chunk(report.chunk)
          settle(id)
          if (report.type === 'end') sink.end(report.outcome, report.contextUsed)
          else sink.fail(fromFailure(report.failure))
        },
        lose() {
          settle(id)
          sink.fail(new Lost())
        },
      })
      if (isLost) queueMicrotask(() => pending.get(id)?.lose())
      else post({ type: 'generate', to: leader, id, request })
      return {
        credit: (count) => post({ type: 'command', to: leader, id, command: { type: 'credit', count } }),
        cancel: () => post({ type: 'command', to: leader, id, command: { type: 'cancel' } }),
      }
    },
    hear(message) {
      unanswered = 0
      if ('id' in message) pending.get(message.id)?.hear(message)
    },
    lose() {
      isLost = true
      for (const each of [...pending.values()]) each.lose()
    },
  }
}

const unread = (): HalfbyteError =>
  new HalfbyteError(
    'internal',
    'the tab with the model answers in a form that this tab cannot read; reload both tabs',
  )
