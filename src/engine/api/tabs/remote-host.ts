// The host in every other tab: asks the engine of the leading tab through the channel.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { GenerateRequest, StreamCommand } from '../../wire/protocol.ts'
import { type Feed, feedOf, isLast, pass, type Sink } from '../../wire/reply-stream.ts'
import { fromFailure } from '../../wire/wire-failure.ts'
import { type CallName, type Host, isAnswer, Lost, type TabMessage, type Unsent } from './tab-messages.ts'

/** Milliseconds between pings to the leader while something is pending. */
const PING_MS = 2000
/** Unanswered pings after which a leader counts as lost: its tab may be frozen. */
const SILENT_PINGS = 5

interface Pending {
  hear(message: TabMessage): void
  lose(): void
}

export class RemoteHost implements Host {
  readonly #post: (message: Unsent) => void
  readonly #leader: string
  readonly #onSilence: () => void
  readonly #pending = new Map<number, Pending>()
  // The ids are secret, so a late or forged answer cannot match another request.
  #nextId = crypto.getRandomValues(new Uint32Array(1))[0]! * 2 ** 20
  #isLost = false
  #unanswered = 0
  #timer: ReturnType<typeof setInterval> | undefined

  /** `onSilence` is called when the leader does not answer. */
  constructor(post: (message: Unsent) => void, leader: string, onSilence: () => void) {
    this.#post = post
    this.#leader = leader
    this.#onSilence = onSilence
  }

  call(name: CallName, args: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isLost) throw new Lost()
      signal.throwIfAborted()
      const abort = () => {
        this.#post({ type: 'abort', to: this.#leader, id })
        end(() => reject(signal.reason))
      }
      const end = (act: () => void) => {
        signal.removeEventListener('abort', abort)
        this.#settle(id)
        act()
      }
      const id = this.#begin({
        hear(message) {
          if (message.type === 'answer' && isAnswer(name, message.value)) end(() => resolve(message.value))
          else if (message.type === 'answer' || message.type === 'garbled') end(() => reject(unread()))
          if (message.type === 'refused') end(() => reject(fromFailure(message.failure)))
        },
        lose: () => end(() => reject(new Lost())),
      })
      signal.addEventListener('abort', abort)
      this.#post({ type: 'call', to: this.#leader, id, name, args })
    })
  }

  generate(request: GenerateRequest, sink: Sink): Feed {
    const fail = (error: Error) => {
      this.#settle(id)
      sink.fail(error)
    }
    const id = this.#begin({
      hear: (message) => {
        if (message.type === 'garbled') fail(unread())
        if (message.type !== 'report') return
        if (isLast(message.report)) this.#settle(id)
        pass(message.report, sink)
      },
      lose: () => fail(new Lost()),
    })
    const command = (it: StreamCommand) => this.#post({ type: 'command', to: this.#leader, id, command: it })
    if (this.#isLost) queueMicrotask(() => this.#pending.get(id)?.lose())
    else this.#post({ type: 'generate', to: this.#leader, id, request })
    return feedOf(command)
  }

  /** Handles the leader's messages to this tab. */
  hear(message: TabMessage): void {
    this.#unanswered = 0
    if ('id' in message) this.#pending.get(message.id)?.hear(message)
  }

  lose(): void {
    this.#isLost = true
    for (const each of [...this.#pending.values()]) each.lose()
  }

  #begin(it: Pending): number {
    const id = this.#nextId++
    this.#pending.set(id, it)
    this.#timer ??= setInterval(() => this.#ping(), PING_MS)
    return id
  }

  #settle(id: number): void {
    this.#pending.delete(id)
    if (this.#pending.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #ping(): void {
    if (this.#unanswered++ < SILENT_PINGS) this.#post({ type: 'ping', to: this.#leader })
    else this.#onSilence()
  }
}

const unread = (): HalfbyteError =>
  new HalfbyteError(
    'internal',
    'the tab with the model sent a message that this tab cannot read; reload both tabs',
  )
