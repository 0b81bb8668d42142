// The engine service: answers a page's calls for one model, its sessions and its streams.

import { type ByteSource, blobSource } from '../core/base/bytes.ts'
import { wrongOption } from '../core/base/check-options.ts'
import { HalfbyteError } from '../core/base/errors.ts'
import { checkOption } from '../core/base/options/option-kinds.ts'
import { SerialQueue } from '../core/base/time/serial-queue.ts'
import { memo } from '../core/base/values.ts'
import { SAMPLER_OPTIONS } from '../core/generate/sampler/sampler-options.ts'
import type { Sequence } from '../core/generate/schedule/sequence.ts'
import { disposedError } from '../core/runtime/pool.ts'
import { noStorage, SessionStore, type StoredSession } from '../core/store/device/sessions.ts'
import type { LoadedModel, LoaderHooks, ModelLoader } from './load/loaded-model.ts'
import { checkedIds, promptIds } from './load/prompt-ids.ts'
import { prefill } from './reply/prefill.ts'
import { promptText, reply } from './reply/reply.ts'
import { scoreTokens } from './reply/token-logprobs.ts'
import { savedConversation, type Transcript, transcriptOf } from './reply/transcript.ts'
import { type EmbedOptions, embed } from './score/embed.ts'
import { type Score, score } from './score/score.ts'
import { abortable, checkText, loadReports, textsOf, textsOrIds } from './serve.ts'
import type { EngineInfo, MemoryUse, ProbeReport } from './types/model.ts'
import type { Outcome, ScoredToken } from './types/reply.ts'
import type {
  EngineService,
  GenerateRequest,
  LoadRequest,
  ProbeRequest,
  Prompt,
  SavedSession,
  TextOrIds,
} from './wire/protocol.ts'
import { type Outlet, openOutlet } from './wire/reply-stream.ts'

/** The implementation of `probe`. */
type ModelProber = (request: ProbeRequest, hooks: Pick<LoaderHooks, 'signal'>) => Promise<ProbeReport>

/** A service without a model; `loadModel` implements its `load`. */
export function createService(loadModel: ModelLoader, probeModel: ModelProber = cannotProbe): EngineService {
  return new Service(loadModel, probeModel)
}

const cannotProbe: ModelProber = async () => {
  throw new HalfbyteError('unsupported', "this engine's worker cannot probe; load the model instead")
}

/** A page is busiest right after its model was loaded. */
const KEEP_AFTER_MS = 3000

/** The state of a session between turns. */
interface Conversation {
  readonly sequence: Sequence
  readonly transcript: Transcript
  /** The requests of the session. */
  readonly queue: SerialQueue
}

class Service implements EngineService {
  readonly #loadModel: ModelLoader
  readonly #probeModel: ModelProber
  #model: LoadedModel | undefined
  readonly #conversations = new Map<number, Conversation>()
  /** Ends what is done in idle moments. */
  readonly #end = new AbortController()
  /** Streams that have not ended, and their work. */
  readonly #running = new Map<Outlet, Promise<void>>()

  constructor(loadModel: ModelLoader, probeModel: ModelProber) {
    this.#loadModel = loadModel
    this.#probeModel = probeModel
  }

  async load(request: LoadRequest, port: MessagePort): Promise<EngineInfo> {
    const reports = loadReports(port)
    const model = await abortable(port, (signal) => this.#loadModel(request, { signal, ...reports }))
    this.#model = model
    void this.#keepPack(model)
    return model.info
  }

  /** If this fails, the next load reads the model's own file again. */
  async #keepPack(model: LoadedModel): Promise<void> {
    if (model.keepPack === undefined) return
    await new Promise((resolve) => setTimeout(resolve, KEEP_AFTER_MS))
    const { signal } = this.#end
    const whenIdle = () => Promise.allSettled([...this.#running.values()])
    await model.keepPack(signal, whenIdle).catch(() => undefined)
  }

  probe(request: ProbeRequest, port: MessagePort): Promise<ProbeReport> {
    return abortable(port, (signal) => this.#probeModel(request, { signal }))
  }

  generate(request: GenerateRequest, port: MessagePort): void {
    const outlet = openOutlet(port)
    const work = this.#stream(request, outlet)
      .then(({ outcome, contextUsed }) => outlet.end(outcome, contextUsed))
      .catch((error: unknown) => outlet.fail(error))
      .finally(() => this.#running.delete(outlet))
    this.#running.set(outlet, work)
  }

  async countTokens(prompt: Prompt): Promise<number> {
    const model = this.#loaded()
    const { prompt: seen, encode } = await model.sight.look(prompt)
    const text = promptText(model, seen)
    return seen.type === 'ids' ? seen.ids.length : encode(text, true).length
  }

  tokenize(text: string): readonly number[] {
    checkText('the text', text)
    return this.#loaded().text.encode(text, true)
  }

  detokenize(ids: readonly number[]): string {
    const model = this.#loaded()
    const list = checkedIds('ids', ids, model, 'format')
    const decoder = model.text.detokenizer()
    return list.map((id) => decoder.push(id)).join('') + decoder.flush()
  }

  async score(
    prompt: string,
    continuations: readonly string[],
    port: MessagePort,
  ): Promise<readonly Score[]> {
    const model = this.#loaded()
    checkText('the prompt', prompt)
    const ids = textsOf('continuations', continuations).map((text) => model.text.encode(text, false))
    return abortable(port, (signal) => score(model, model.text.encode(prompt, true), ids, signal))
  }

  async scoreTokens(prompt: TextOrIds, top: number, port: MessagePort): Promise<readonly ScoredToken[]> {
    const model = this.#loaded()
    checkOption('top', top, SAMPLER_OPTIONS.logprobs)
    const ids = promptIds(prompt, model)
    return abortable(port, (signal) => scoreTokens(model, ids, top, signal))
  }

  async embed(
    texts: readonly TextOrIds[],
    options: EmbedOptions,
    port: MessagePort,
  ): Promise<readonly Float32Array[]> {
    const model = this.#loaded()
    const all = textsOrIds('texts', texts).map((text) => promptIds(text, model))
    return abortable(port, async (signal) => {
      const vectors: Float32Array[] = []
      for (const ids of all) vectors.push(await embed(model, ids, options, signal))
      return vectors
    })
  }

  memory(): MemoryUse {
    return this.#loaded().memory()
  }

  async fork(from: number, to: number): Promise<void> {
    const original = this.#conversations.get(from)
    // A session without a turn so far has no state to share.
    if (original === undefined) return
    await original.queue.run(() => {
      this.#conversations.set(to, {
        sequence: original.sequence.fork(),
        transcript: original.transcript.copy(),
        queue: new SerialQueue(),
      })
    })
  }

  save(session: number, extra: SavedSession, port: MessagePort): Promise<Blob> {
    return this.#write(session, extra, port, async (pieces) => {
      const blobs: Blob[] = []
      // A blob is outside this heap, so the heap never holds a second copy of the state.
      for await (const piece of pieces) blobs.push(new Blob([piece]))
      return new Blob(blobs)
    })
  }

  async store(session: number, name: string, extra: SavedSession, port: MessagePort): Promise<StoredSession> {
    if (typeof name !== 'string') throw wrongOption('the name', name, 'a text')
    return this.#write(session, extra, port, async (pieces, bytes) => {
      const store = await openStore()
      return store.put(name, pieces, bytes)
    })
  }

  /**
   * Passes the pieces of a session's file, about `bytes` in total, to `use` when the session's turn comes.
   */
  async #write<T>(
    session: number,
    extra: SavedSession,
    port: MessagePort,
    use: (pieces: AsyncIterable<Uint8Array<ArrayBuffer>>, bytes: number) => Promise<T>,
  ): Promise<T> {
    const model = this.#alive()
    const conversation = this.#conversation(model, session)
    const { sequence, transcript } = conversation
    const work = async (signal: AbortSignal) => {
      const fingerprint = await model.fingerprint()
      signal.throwIfAborted()
      const kept = { ...extra, transcript, ...(await model.sight.save(sequence, extra.messages)) }
      return use(sequence.save(fingerprint, kept, signal), sequence.savedBytes)
    }
    return abortable(port, (signal) => conversation.queue.run(() => work(signal)))
  }

  restore(session: number, file: Blob | string, port: MessagePort): Promise<SavedSession> {
    return abortable(port, async (signal) => {
      this.#alive()
      const restore = (source: ByteSource) => this.#restore(session, source, signal)
      if (file instanceof Blob) return restore(blobSource('the saved session', file))
      if (typeof file !== 'string') throw wrongOption('the saved session', file, 'a Blob or a name')
      const opening = openStore()
      // Known by the time the file is found.
      void this.#loaded().fingerprint()
      const saved = await (await opening).read(file, restore)
      if (saved !== undefined) return saved
      throw new HalfbyteError(
        'unsupported',
        `no session is stored here as ${JSON.stringify(file)}; storedSessions() lists the stored ones`,
        { name: file },
      )
    })
  }

  async #restore(session: number, source: ByteSource, signal: AbortSignal): Promise<SavedSession> {
    const model = this.#loaded()
    const fingerprint = await model.fingerprint()
    const { sequence, extra } = await model.restoreSequence(source, fingerprint, signal)
    try {
      const { transcript, pictures, ...saved } = savedConversation(extra, source.name)
      const messages = model.sight.restore(sequence, { ...saved, pictures }, source.name)
      this.#conversations.set(session, {
        sequence,
        transcript: transcriptOf(transcript),
        queue: new SerialQueue(),
      })
      return { ...saved, messages }
    } catch (error) {
      sequence.release()
      throw error
    }
  }

  async close(session: number): Promise<void> {
    const conversation = this.#conversations.get(session)
    if (conversation === undefined) return
    this.#conversations.delete(session)
    await conversation.queue.run(() => conversation.sequence.release())
  }

  async dispose(): Promise<void> {
    const model = this.#model
    this.#end.abort(disposedError())
    for (const outlet of this.#running.keys()) outlet.cancel()
    await Promise.all(this.#running.values())
    for (const { sequence } of this.#conversations.values()) sequence.release()
    this.#conversations.clear()
    this.#model = undefined
    await model?.dispose()
  }

  async #stream(
    request: GenerateRequest,
    outlet: Outlet,
  ): Promise<{ outcome: Outcome; contextUsed: number }> {
    const model = this.#loaded()
    const { session } = request
    if (session !== undefined) {
      const conversation = this.#conversation(model, session)
      return conversation.queue.run(() => answer(model, conversation, request, outlet))
    }
    const passing = newConversation(model)
    try {
      return await answer(model, passing, request, outlet)
    } finally {
      passing.sequence.release()
    }
  }

  #conversation(model: LoadedModel, session: number): Conversation {
    return memo(this.#conversations, session, () => newConversation(model))
  }

  #loaded(): LoadedModel {
    if (this.#model !== undefined) return this.#model
    throw new HalfbyteError('disposed', 'this engine has no model; load one')
  }

  /** The model, unless its pool has ended with an error. */
  #alive(): LoadedModel {
    const model = this.#loaded()
    if (model.scheduler.isOver) throw disposedError()
    return model
  }
}

function newConversation(model: LoadedModel): Conversation {
  return {
    sequence: model.newSequence({ shares: true }),
    transcript: transcriptOf(),
    queue: new SerialQueue(),
  }
}

async function answer(
  model: LoadedModel,
  { sequence, transcript }: Conversation,
  request: GenerateRequest,
  outlet: Outlet,
): Promise<{ outcome: Outcome; contextUsed: number }> {
  const run = request.prefill === undefined ? reply : prefill
  const outcome = await run(model, sequence, transcript, request, outlet)
  return { outcome, contextUsed: sequence.tokens.length }
}

async function openStore(): Promise<SessionStore> {
  const store = await SessionStore.open()
  if (store === undefined) throw noStorage()
  return store
}
