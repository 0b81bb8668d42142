// The engine service of each tab of a site. It uses the engine that all tabs share, wherever it runs.
//
// The tab that holds a Web Lock is the leader: it has the worker and the weights. The others wait for the
// lock and ask the leader through a BroadcastChannel. When the leader's tab closes, the browser grants the
// lock to another tab, which loads the model from this device; pending requests are sent again, to that tab.
// Replies always have a seed, so the new leader's reply repeats the beginning of the lost one, then
// continues.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { steadyClock } from '../../../core/base/time/clocks.ts'
import { randomId } from '../../../core/base/values.ts'
import type { EngineInfo, LoadProgress } from '../../types/model.ts'
import type { TextChunk } from '../../types/reply.ts'
import type { Connection } from '../../wire/connection.ts'
import type { EngineService, GenerateRequest, StreamCommand, StreamReport } from '../../wire/protocol.ts'
import type { Feed } from '../../wire/reply-stream.ts'
import { toFailure } from '../../wire/wire-failure.ts'
import { failedHost, type LocalEngine } from './local-host.ts'
import { RemoteHost } from './remote-host.ts'
import { TabServer } from './serve-tabs.ts'
import {
  type CallName,
  type Host,
  Lost,
  readMessage,
  TABS_VERSION,
  type TabMessage,
  type Unsent,
} from './tab-messages.ts'

/**
 * How long (ms) a leader may assume that it is still the leader. Other tabs take over from a leader that was
 * silent for longer (remote-host.ts).
 */
const SURE_MS = 5000
/**
 * How many times per message the leader repeats a leadership check whose answer came too late; the last
 * answer then counts.
 */
const MAX_LOOKS = 4

/** How an engine starts in this tab. */
type StartHost = (onProgress: (progress: LoadProgress) => void, onDeath: () => void) => LocalEngine

export class TabService {
  readonly #id = randomId()
  readonly #name: string
  readonly #start: StartHost
  readonly #channel: BroadcastChannel
  readonly #left = new AbortController()
  readonly #now = steadyClock(() => performance.now())
  #host: Host | undefined
  #remote: { readonly id: string; readonly host: RemoteHost } | undefined
  #server: TabServer | undefined
  #waiting: ((host: Host) => void)[] = []
  #progress: ((progress: LoadProgress) => void) | undefined
  /** Tabs whose end the leader watches. */
  readonly #watched = new Set<string>()
  /** True once this tab may send messages. */
  #hasBegun = false
  /** Pending or granted requests for leadership. */
  #claims = 0
  #sureUntil = 0
  /** Messages that arrived while the leader checks whether it still leads. */
  #unsure: TabMessage[] | undefined

  /** `name`: shared by all tabs that use the engine. */
  constructor(name: string, start: StartHost) {
    this.#name = `halfbyte tabs ${TABS_VERSION} ${name}`
    this.#start = start
    this.#channel = new BroadcastChannel(this.#name)
    this.#channel.onmessage = ({ data }: MessageEvent) => {
      const message = readMessage(data)
      if (message !== undefined) this.#hear(message)
    }
    // The leader frees this tab's resources once this lock is free, so the lock is taken before the first
    // message.
    void this.#hold(this.#lifeLock(this.#id), {}, () => {
      this.#hasBegun = true
      this.#seek()
    })
  }

  /** The service interface called by an engine's client. */
  readonly service: EngineService = {
    load: (_, port) => {
      this.#progress = (progress) => port.postMessage({ type: 'progress', progress })
      return this.#ask('load', [], port) as Promise<EngineInfo>
    },
    probe: () =>
      Promise.reject(new HalfbyteError('unsupported', 'a shared engine cannot probe; use Engine.probe')),
    generate: (request, port) => this.#generate(request, port),
    countTokens: ((...args: unknown[]) => this.#ask('countTokens', args)) as never,
    tokenize: ((...args: unknown[]) => this.#ask('tokenize', args)) as never,
    detokenize: ((...args: unknown[]) => this.#ask('detokenize', args)) as never,
    memory: (() => this.#ask('memory', [])) as never,
    score: (prompt, continuations, port) => this.#ask('score', [prompt, continuations], port) as never,
    scoreTokens: (prompt, top, port) => this.#ask('scoreTokens', [prompt, top], port) as never,
    embed: (texts, options, port) => this.#ask('embed', [texts, options], port) as never,
    fork: (from, to) => this.#ask('fork', [from, to]) as Promise<void>,
    save: (session, extra, port) => this.#ask('save', [session, extra], port) as never,
    store: (session, name, extra, port) => this.#ask('store', [session, name, extra], port) as never,
    restore: (session, file, port) => this.#ask('restore', [session, file], port) as never,
    close: (session) => this.#close(session),
    dispose: async () => this.leave(),
  }

  /** Call this when the tab no longer needs the engine. If it led, another tab takes over. */
  leave(): void {
    if (this.#left.signal.aborted) return
    this.#left.abort()
    this.#host?.lose()
    this.#channel.close()
  }

  /** Waits for leadership as long as this tab exists. */
  #stand(options: LockOptions = {}): void {
    this.#claims++
    void this.#hold(this.#name, options, (end) => this.#lead(end)).then(() => {
      this.#claims--
      if (this.#waiting.length > 0) this.#seek()
    })
  }

  /** Finds a leader or becomes one: at the start, and after this tab has given up leadership. */
  #seek(): void {
    if (!this.#hasBegun || this.#claims > 0 || this.#left.signal.aborted) return
    this.#stand()
    this.#post({ type: 'who' })
  }

  /** Holds a lock until this tab leaves or `end` is called; calls `begin` when it has the lock. */
  async #hold(name: string, options: LockOptions, begin: (end: () => void) => void): Promise<void> {
    const { signal } = this.#left
    let hasBegun = false
    try {
      // Stealing a lock cannot be combined with a signal.
      await navigator.locks.request(name, options.steal ? options : { ...options, signal }, () => {
        if (signal.aborted) return undefined
        hasBegun = true
        return new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true })
          begin(resolve)
        })
      })
    } catch {
      // Another tab stole the lock: this tab was silent, and the other leads now.
      if (hasBegun && !signal.aborted && name === this.#name) {
        this.#stepDown()
        this.#stand()
        this.#post({ type: 'who' })
      }
    }
  }

  #lead(end: () => void): void {
    const onProgress = (progress: LoadProgress) => {
      this.#progress?.(progress)
      this.#post({ type: 'progress', progress })
    }
    // If no other tab leads, this tab loads the model again only for a new request, so that an engine that
    // dies on every load does not cause an endless loop.
    const giveUp = () => {
      if (this.#host !== host) return
      this.#retire()
      // By then everything pending has been notified.
      setTimeout(() => {
        host.lose()
        end()
      })
    }
    const host = started(() => this.#start(onProgress, giveUp))
    this.#server = new TabServer(host, (message) => this.#post(message))
    this.#sureUntil = this.#now() + SURE_MS
    this.#remote?.host.lose()
    this.#remote = undefined
    this.#take(host)
    this.#post({ type: 'leader' })
    host.loaded.catch(giveUp)
  }

  #stepDown(): void {
    const host = this.#host
    this.#retire()
    host?.lose()
  }

  /** The engine of this tab receives no more requests. */
  #retire(): void {
    this.#host = undefined
    this.#server = undefined
    this.#watched.clear()
  }

  #follow(leader: string): void {
    if (this.#server !== undefined || this.#remote?.id === leader) return
    const before = this.#remote?.host
    const host = new RemoteHost(
      (message) => this.#post(message),
      leader,
      () => this.#stand({ steal: true }),
    )
    this.#remote = { id: leader, host }
    this.#take(host)
    before?.lose()
    // A tab that gave up leadership waits for it again.
    if (this.#claims === 0) this.#stand()
  }

  #take(host: Host): void {
    this.#host = host
    for (const tell of this.#waiting.splice(0)) tell(host)
  }

  /** The current host; if that is `lost`, the next one. */
  #hostAfter(lost?: Host): Promise<Host> {
    if (this.#host !== undefined && this.#host !== lost) return Promise.resolve(this.#host)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#host === undefined) this.#seek()
    })
  }

  #hear(message: TabMessage): void {
    const { type, from, to } = message
    if (to !== undefined && to !== this.#id) return
    if (type === 'leader') this.#follow(from)
    else if (type === 'progress') {
      if (from === this.#remote?.id) this.#progress?.(message.progress)
    } else if (this.#server !== undefined) {
      if (this.#unsure !== undefined) this.#unsure.push(message)
      else if (this.#now() < this.#sureUntil) this.#serve(this.#server, message)
      else void this.#makeSure(this.#server, message)
    } else if (from === this.#remote?.id) this.#remote.host.hear(message)
  }

  #serve(server: TabServer, message: TabMessage): void {
    const { type, from } = message
    if (type === 'who') this.#post({ type: 'leader', to: from })
    else server.hear(message)
    this.#watch(from)
  }

  /** A tab that was frozen may have lost the lead without noticing. */
  async #makeSure(server: TabServer, first: TabMessage): Promise<void> {
    const messages = [first]
    this.#unsure = messages
    let leads = true
    let asked = Number.NEGATIVE_INFINITY
    // If a tab freezes meanwhile, the answer is outdated when it arrives.
    for (let looks = 0; leads && looks < MAX_LOOKS && this.#now() > asked + SURE_MS; looks++) {
      asked = this.#now()
      leads = await this.#leads()
    }
    this.#unsure = undefined
    // The caller has already sent the request to the next leader.
    if (!leads || this.#server !== server) return
    this.#sureUntil = asked + SURE_MS
    for (const message of messages) this.#serve(server, message)
  }

  /** Whether this tab's page also holds the leader's lock. */
  async #leads(): Promise<boolean> {
    const { held = [] } = await navigator.locks.query()
    const holder = (lock: string) => held.find(({ name }) => name === lock)?.clientId
    return holder(this.#name) === holder(this.#lifeLock(this.#id))
  }

  #watch(tab: string): void {
    if (this.#watched.has(tab)) return
    this.#watched.add(tab)
    navigator.locks
      .request(this.#lifeLock(tab), { signal: this.#left.signal }, () => {
        this.#watched.delete(tab)
        this.#server?.drop(tab)
      })
      .catch(() => undefined)
  }

  #lifeLock(tab: string): string {
    return `${this.#name} ${tab}`
  }

  #post(message: Unsent): void {
    if (!this.#left.signal.aborted) this.#channel.postMessage({ ...message, from: this.#id })
  }

  /** Sends a call to the leader; if the leader is lost, to the next one. */
  async #ask(name: CallName, args: readonly unknown[], port?: MessagePort): Promise<unknown> {
    const abort = new AbortController()
    if (port !== undefined) port.onmessage = () => abort.abort()
    let host: Host | undefined
    for (;;) {
      host = await this.#hostAfter(host)
      try {
        return await host.call(name, args, abort.signal)
      } catch (error) {
        if (!(error instanceof Lost)) throw error
      }
    }
  }

  /** A session ends with its engine, so the next leader need not be asked. */
  async #close(session: number): Promise<void> {
    const { signal } = new AbortController()
    await this.#host?.call('close', [session], signal).catch((error) => {
      if (!(error instanceof Lost)) throw error
    })
  }

  #generate(asked: GenerateRequest, port: MessagePort): void {
    const { options } = asked
    const request = { ...asked, options: { ...options, seed: options.seed ?? randomSeed() } }
    const post = (report: StreamReport) => port.postMessage(report)
    const end = (report: StreamReport) => {
      post(report)
      port.close()
    }
    let feed: Feed | undefined
    let isCancelled = false
    const delivered = { reasoning: '', text: '' }
    port.onmessage = ({ data }: MessageEvent<StreamCommand>) => {
      if (data.type === 'cancel') isCancelled = true
      if (data.type === 'credit') feed?.credit(data.count)
      else feed?.cancel()
    }
    const start = async (lost?: Host) => {
      const host = await this.#hostAfter(lost)
      const known = { ...delivered }
      const chunk = (given: TextChunk) => {
        const part = given.reasoning === undefined ? 'text' : 'reasoning'
        const piece = given[part] ?? ''
        const { rest, isSame } = after(known[part], piece)
        if (!isSame) {
          feed?.cancel()
          end({ type: 'failed', failure: toFailure(differs()) })
          return
        }
        known[part] = known[part].slice(piece.length - rest.length)
        // The reader already has this chunk.
        if (rest === '') feed?.credit(1)
        else {
          delivered[part] += rest
          post({ type: 'chunk', chunk: { ...given, [part]: rest } })
        }
      }
      const fail = (error: unknown) => {
        if (error instanceof Lost) void start(host)
        else end({ type: 'failed', failure: toFailure(error) })
      }
      try {
        feed = host.generate(request, {
          prefill: (progress) => post({ type: 'prefill', progress }),
          chunk,
          end: (outcome, contextUsed) => end({ type: 'end', outcome, contextUsed }),
          fail,
        })
        if (isCancelled) feed.cancel()
      } catch (error) {
        fail(error)
      }
    }
    void start()
  }
}

/** A browser may reject a worker immediately. */
function started(start: () => LocalEngine): LocalEngine {
  try {
    return start()
  } catch (error) {
    return failedHost(error)
  }
}

/** The new part of a chunk if the reader already has the characters `known`. */
function after(known: string, text: string): { readonly rest: string; readonly isSame: boolean } {
  const length = Math.min(known.length, text.length)
  return { rest: text.slice(length), isSame: known.slice(0, length) === text.slice(0, length) }
}

const differs = (): HalfbyteError =>
  new HalfbyteError(
    'disposed',
    'the tab with the model was closed during this reply, and another tab would have continued differently; ask again',
  )

const randomSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0]!

/** The connection through which an engine's client talks to `tab`. */
export const endingWith = (connection: Connection, tab: TabService): Connection => ({
  ...connection,
  close() {
    tab.leave()
    connection.close()
  },
})
