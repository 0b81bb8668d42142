// The conversation of `halfbyte chat`: a session whose system text can change, and files for the next
// message.
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
import { isSavedSession } from '../../../engine/reply/transcript.ts'
import { readText } from '../files.ts'
import { contextNote } from '../terminal/notes.ts'
import { writeOutput } from '../terminal/output.ts'

/** Maximum bytes of a file in a message: more than the context of any model holds. */
const MOST_FILE_BYTES = 4 << 20

interface ConversationOptions extends Pick<SessionOptions, 'overflow'> {
  readonly system?: string | undefined
  readonly reply: GenerateOptions
}

interface AttachedFile {
  readonly name: string
  readonly text: string
}

export class Conversation {
  readonly #engine: Engine
  readonly #options: ConversationOptions
  #system: string | undefined
  #session: Session
  #files: readonly AttachedFile[] = []
  #last: GenerationResult | undefined

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

  /** Answers a message after the attached files, which stay attached if the answer fails. */
  say(text: string, signal?: AbortSignal): Generation {
    const files = this.#files.map((file) => `${file.name}:\n\`\`\`\n${file.text}\n\`\`\`\n\n`)
    const generation = this.#session.send(files.join('') + text, { ...this.#options.reply, signal })
    return this.#noted(generation)
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
    this.#files = []
    this.#last = undefined
    this.#session.setMessages([])
  }

  /** Adds a text file to the next message. Throws `format` if it cannot be read. */
  async attach(path: string): Promise<void> {
    this.#files = [...this.#files, { name: basename(path), text: await readText(path, MOST_FILE_BYTES) }]
  }

  /** Writes the system text and the messages as JSON. Throws what `writeOutput` throws. */
  save(path: string): Promise<void> {
    const text = JSON.stringify({ system: this.#system, messages: this.messages }, null, 2)
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
    await this.#replace(saved.messages)
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

  #noted(generation: Generation): Generation {
    generation.result.then(
      (result) => {
        this.#last = result
        this.#files = []
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
