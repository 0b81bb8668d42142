// The conversation of `halfbyte chat`: a session whose system text and model can change, and files and
// pictures for the next message.
import { basename } from 'node:path'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseObject } from '../../../core/formats/json-files.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import type {
  GenerateOptions,
  Generation,
  GenerationResult,
  Message,
  Session,
  SessionOptions,
} from '../../../engine/api/types.ts'
import { readMessages, writtenMessages } from '../../../engine/load/vision/saved-pictures.ts'
import { isSavedSession } from '../../../engine/reply/transcript.ts'
import { readText } from '../files.ts'
import { readPicture } from '../pictures/read-picture.ts'
import { contextNote } from '../terminal/notes.ts'
import { writeOutput } from '../terminal/output.ts'

/** Maximum bytes of a file in a message: more than the context of any model holds. */
const MOST_FILE_BYTES = 4 << 20

interface ConversationOptions extends Pick<SessionOptions, 'overflow'> {
  readonly system?: string | undefined
  readonly reply: GenerateOptions
  /** Loads the model that `/model` names. */
  readonly open: (model: string, signal?: AbortSignal) => Promise<Engine>
}

interface AttachedFile {
  readonly name: string
  readonly text: string
}

export class Conversation implements AsyncDisposable {
  readonly #options: ConversationOptions
  #engine: Engine
  #system: string | undefined
  #session: Session
  #files: readonly AttachedFile[] = []
  #pictures: readonly Uint8Array[] = []
  #last: GenerationResult | undefined

  /** Disposes of `engine`, and of those that replace it, when it ends. */
  constructor(engine: Engine, options: ConversationOptions) {
    this.#engine = engine
    this.#options = options
    this.#system = options.system
    this.#session = this.#open([])
  }

  get messages(): readonly Message[] {
    return this.#session.messages
  }

  get system(): string | undefined {
    return this.#system
  }

  /** The name of the model. */
  get modelName(): string {
    return this.#engine.model.id
  }

  /** The text of the last message of the user; undefined if there is none. */
  get lastAsked(): string | undefined {
    return this.messages.findLast(({ role }) => role === 'user')?.content
  }

  /** Answers a message after the attached files and pictures, which stay attached if the answer fails. */
  say(text: string, signal?: AbortSignal): Generation {
    const files = this.#files.map((file) => `${file.name}:\n\`\`\`\n${file.text}\n\`\`\`\n\n`)
    const images = this.#pictures
    const message = {
      role: 'user',
      content: files.join('') + text,
      ...(images.length > 0 && { images }),
    } as const
    return this.#noted(this.#session.send(message, { ...this.#options.reply, signal }))
  }

  /** Replaces the text of the user's last message, and answers it. Throws `unsupported` if there is none. */
  edit(text: string, signal?: AbortSignal): Generation {
    const index = this.messages.findLastIndex(({ role }) => role === 'user')
    if (index < 0) throw nothingAsked()
    return this.#noted(this.#session.edit(index, text, { ...this.#options.reply, signal }))
  }

  /** Answers the last message again. Throws `unsupported` if nothing has been answered. */
  retry(signal?: AbortSignal): Generation {
    if (this.messages.at(-1)?.role !== 'assistant')
      throw new HalfbyteError('unsupported', 'there is no answer to replace yet; write a message first')
    return this.#noted(this.#session.regenerate({ ...this.#options.reply, signal }))
  }

  /** Replaces the system text; the messages stay. */
  setSystem(system: string | undefined): Promise<void> {
    this.#system = system
    return this.#replace(this.messages)
  }

  async reset(): Promise<void> {
    this.#detach()
    this.#last = undefined
    this.#session.setMessages([])
  }

  /**
   * Continues the conversation with another model; until that is loaded, both are in memory. Throws what
   * loading throws, and `unsupported` for a conversation with pictures if the new model does not see; the
   * conversation then stays with its model.
   */
  async switchTo(model: string, signal?: AbortSignal): Promise<void> {
    const engine = await this.#options.open(model, signal)
    const pictures = [...this.#pictures, ...this.messages.flatMap(({ images = [] }) => images)].length
    if (pictures > 0 && !engine.model.seesImages) {
      await engine.dispose()
      throw new HalfbyteError(
        'unsupported',
        `${engine.model.id} does not see, and the conversation has ${pictures} picture${pictures > 1 ? 's' : ''}; /reset it first, or choose a vision model`,
        { pictures },
      )
    }
    const old = this.#engine
    const { messages } = this
    this.#engine = engine
    await this.#replace(messages)
    await old.dispose()
  }

  /** Adds a text file to the next message. Throws `format` if it cannot be read. */
  async attach(path: string): Promise<void> {
    this.#files = [...this.#files, { name: basename(path), text: await readText(path, MOST_FILE_BYTES) }]
  }

  /**
   * Adds a picture to the next message. Throws `unsupported` for a model without vision, and what
   * `readPicture` throws.
   */
  async attachPicture(path: string): Promise<void> {
    if (!this.#engine.model.seesImages) {
      throw new HalfbyteError(
        'unsupported',
        `${this.modelName} does not see pictures; choose a vision model with /model, or start the chat with its tower in --vision`,
      )
    }
    this.#pictures = [...this.#pictures, await readPicture(path)]
  }

  /** Writes the system text and the messages as JSON. Throws what `writeOutput` throws. */
  async save(path: string): Promise<void> {
    const messages = await writtenMessages(this.messages)
    const text = JSON.stringify({ system: this.#system, messages }, null, 2)
    return writeOutput(path, [new TextEncoder().encode(`${text}\n`)])
  }

  /** Continues a saved conversation. Throws `format` if the file has none. */
  async load(path: string): Promise<void> {
    const { system, messages } = parseObject(path, await readText(path))
    const saved: unknown = { system, messages, contextUsed: 0 }
    if (!isSavedSession(saved))
      throw new HalfbyteError('format', `${path} is not a conversation; give a file that /save wrote`, {
        path,
      })
    this.#system = saved.system
    await this.#replace(readMessages(saved.messages))
  }

  /** The tokens and speed of the last answer, and how full the context is. */
  stats(): string {
    const used = `context: ${this.#session.contextUsed} of ${this.#engine.model.contextLength} tokens`
    if (this.#last === undefined) return `${used}; nothing has been answered`
    const { usage, timings, finishReason } = this.#last
    const first = (timings.firstTokenMs / 1000).toFixed(2)
    return [
      used,
      `prompt: ${usage.promptTokens} tokens, ${usage.cachedTokens} of them cached, ${timings.prefillTokensPerSecond.toFixed(1)} tokens/s`,
      `answer: ${usage.completionTokens} tokens, ${timings.decodeTokensPerSecond.toFixed(1)} tokens/s, first after ${first} s, ended by ${finishReason}`,
    ].join('\n')
  }

  /** What the last answer lacks because of the context, if anything. */
  contextNote(): string | undefined {
    const { contextLength } = this.#engine.model
    return this.#last && contextNote(this.#last, contextLength, this.#options.reply.maxTokens)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine.dispose()
  }

  #detach(): void {
    this.#files = []
    this.#pictures = []
  }

  #noted(generation: Generation): Generation {
    generation.result.then(
      (result) => {
        this.#last = result
        this.#detach()
      },
      // The reader of the generation handles the error.
      () => undefined,
    )
    return generation
  }

  async #replace(messages: readonly Message[]): Promise<void> {
    const old = this.#session
    this.#session = this.#open(messages)
    this.#last = undefined
    await old.dispose()
  }

  #open(messages: readonly Message[]): Session {
    const { overflow } = this.#options
    return this.#engine.createSession({ system: this.#system, messages, overflow })
  }
}

const nothingAsked = (): HalfbyteError =>
  new HalfbyteError('unsupported', 'there is no message to edit yet; write one first')
