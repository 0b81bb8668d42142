// The terminal of `halfbyte chat`: reads messages and commands, prints answers, and stops them on Ctrl-C.
import { createInterface, type Interface, type Key } from 'node:readline'
import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import type { Generation } from '../../../engine/api/types.ts'
import { dimmed, errorLine, isDumb, visible } from '../terminal/failure.ts'
import type { History } from '../terminal/history.ts'
import { runChatCommand } from './chat-commands.ts'
import { ChatOutput } from './chat-output.ts'
import { completeLine } from './complete-line.ts'
import type { Conversation } from './conversation.ts'
import { editorOf, editText } from './edit-text.ts'
import { MessageLines } from './message-lines.ts'
import { printReply } from './print-reply.ts'

/** Two presses within this many milliseconds exit, even during an answer. */
const TWICE_MS = 1500

/** Ask the terminal to mark pasted text, and to stop doing so. */
const PASTE_MARKS = { on: '\x1b[?2004h', off: '\x1b[?2004l' } as const

const FIRST_LINE = '> '
const FURTHER_LINE = '. '
const EDITED_LINE = 'edit> '

/** Node has the switch without describing it. */
type LineEditor = Interface & { isCompletionEnabled?: boolean }

/** Talks until the input ends or Ctrl-C is pressed twice. */
export async function talk(chat: Conversation, history: History): Promise<void> {
  const output = new ChatOutput(process.stdout)
  // A dumb terminal can't move its cursor, so the system's own line editing applies.
  const terminal: LineEditor = createInterface({
    input: process.stdin,
    output,
    terminal: !isDumb(),
    completer: (line: string) => [...completeLine(line)],
    history: [...history.lines],
    historySize: Math.max(1000, history.lines.length),
  })
  const talking = new Talk(chat, history, terminal, output)
  try {
    markPastes(true)
    await talking.finished
  } finally {
    terminal.close()
    markPastes(false)
    process.stdout.write('\n')
    output.destroy()
  }
}

function markPastes(isOn: boolean): void {
  if (!isDumb()) process.stdout.write(isOn ? PASTE_MARKS.on : PASTE_MARKS.off)
}

class Talk {
  readonly finished: Promise<void>
  readonly #chat: Conversation
  readonly #terminal: LineEditor
  readonly #output: ChatOutput
  readonly #lines = new MessageLines()
  #running: Generation | undefined
  /** Aborts the running command. */
  #stop: AbortController | undefined
  /** Gets the message that is being edited in the line; undefined if the user gives up. */
  #edited: ((message: string | undefined) => void) | undefined
  /** Messages that are being answered, or wait for it. */
  #pending = 0
  #isPasting = false
  #isOver = false
  /** True while another program has the terminal. */
  #isAway = false
  #pressedAt = Number.NEGATIVE_INFINITY

  constructor(chat: Conversation, history: History, terminal: LineEditor, output: ChatOutput) {
    this.#chat = chat
    this.#terminal = terminal
    this.#output = output
    const interrupt = () => this.#interrupt()
    const onKey = (_: string | undefined, { name }: Key) => {
      if (name === 'paste-start') this.#isPasting = true
      if (name === 'paste-end') this.#isPasting = false
      // Tabs in a pasted text are text.
      terminal.isCompletionEnabled = !this.#isPasting
    }
    process.stdin.on('keypress', onKey)
    // Readline reads Ctrl-C as a key, except from a dumb terminal, which sends the signal.
    terminal.on('SIGINT', interrupt)
    process.on('SIGINT', interrupt)
    let turns = Promise.resolve()
    this.finished = new Promise<void>((resolve, reject) => {
      terminal.on('line', (line) => {
        history.add(line)
        const message = this.#lines.add(line, this.#isPasting)
        if (message === undefined) {
          this.#prompt()
          return
        }
        if (this.#edited !== undefined) {
          this.#edited(message)
          return
        }
        const isUnseen = this.#output.isSilent
        this.#output.isSilent = true
        this.#pending++
        turns = turns.then(() => this.#turn(message, isUnseen))
        turns.catch(reject)
      })
      terminal.on('close', () => {
        this.#isOver = true
        this.#running?.cancel()
        this.#stop?.abort()
        this.#edited?.(undefined)
        turns.then(resolve, reject)
      })
    }).finally(() => {
      process.stdin.off('keypress', onKey)
      process.off('SIGINT', interrupt)
    })
    this.#prompt()
  }

  #prompt(): void {
    const isAsking = this.#pending === 0 || this.#edited !== undefined
    if (this.#isOver || !isAsking || this.#isPasting) return
    this.#output.isSilent = false
    const first = this.#edited === undefined ? FIRST_LINE : EDITED_LINE
    this.#terminal.setPrompt(this.#lines.isOpen ? FURTHER_LINE : first)
    // Keys that were typed during an answer are in the line, and the cursor is after them.
    this.#terminal.prompt(true)
  }

  #interrupt(): void {
    if (this.#isAway) return
    const isSecond = performance.now() - this.#pressedAt < TWICE_MS
    this.#pressedAt = performance.now()
    if (isSecond) {
      this.#terminal.close()
      return
    }
    if (this.#running !== undefined) {
      this.#running.cancel()
      return
    }
    if (!isDumb()) this.#terminal.write(null, { ctrl: true, name: 'u' })
    this.#lines.clear()
    if (this.#edited !== undefined) {
      process.stdout.write('\n')
      this.#edited(undefined)
      return
    }
    if (this.#stop !== undefined) {
      this.#stop.abort()
      return
    }
    process.stdout.write('\n(Ctrl-C again to leave)\n')
    this.#prompt()
  }

  /** `isUnseen`: the message was typed during an answer, when keys are not shown. */
  async #turn(message: string, isUnseen: boolean): Promise<void> {
    if (this.#isOver) return
    if (isUnseen && !isDumb()) process.stdout.write(`${FIRST_LINE}${visible(message)}\n`)
    if (message.trim() !== '') await this.#answer(message)
    this.#pending--
    this.#prompt()
  }

  /**
   * An error that does not end the engine, such as a full disk or context, leaves the conversation as it was.
   */
  async #answer(message: string): Promise<void> {
    const stop = new AbortController()
    this.#stop = stop
    const { signal } = stop
    try {
      const edit = (text: string) => this.#edit(text)
      const command = await runChatCommand(message, this.#chat, { signal, edit })
      const said = command === undefined ? this.#chat.say(message) : command.said
      if (typeof said === 'string') process.stdout.write(`${visible(said)}\n`)
      else await this.#print(said)
    } catch (error) {
      if (signal.aborted) process.stdout.write('stopped\n')
      else if (!isHalfbyteError(error) || ENDING.has(error.code)) throw error
      else process.stdout.write(`${errorLine(error)}\n`)
    } finally {
      this.#stop = undefined
    }
  }

  /** Lets the user change a text: in their editor if there is one, otherwise in the line. */
  async #edit(text: string): Promise<string | undefined> {
    const editor = editorOf()
    if (editor !== undefined) return this.#away(() => editText(text, editor))
    if (isDumb() || text.includes('\n')) {
      throw new HalfbyteError(
        'unsupported',
        `the line cannot hold ${isDumb() ? 'a message to edit in this terminal' : 'a message of several lines'}; set EDITOR, or give the new text as in /edit What is 2 + 3?`,
      )
    }
    try {
      return await new Promise<string | undefined>((resolve) => {
        this.#edited = resolve
        this.#prompt()
        this.#terminal.write(text)
      })
    } finally {
      this.#edited = undefined
      this.#output.isSilent = true
    }
  }

  /** Gives the terminal to another program. */
  async #away<T>(work: () => Promise<T>): Promise<T> {
    this.#isAway = true
    this.#terminal.pause()
    markPastes(false)
    if (process.stdin.isTTY) process.stdin.setRawMode(false)
    try {
      return await work()
    } finally {
      if (process.stdin.isTTY && !isDumb()) process.stdin.setRawMode(true)
      markPastes(true)
      this.#terminal.resume()
      this.#isAway = false
    }
  }

  async #print(generation: Generation): Promise<void> {
    this.#running = generation
    try {
      await printReply(generation)
      const { finishReason, timings } = await generation.result
      const rate = timings.decodeTokensPerSecond.toFixed(1)
      const cut = this.#chat.contextNote()
      const facts = [finishReason, `${rate} tokens/s`, ...(cut === undefined ? [] : [cut])]
      process.stdout.write(`\n${dimmed(`[${facts.join(', ')}]`)}\n`)
    } finally {
      this.#running = undefined
    }
  }
}

/** Codes of errors after which the engine answers no more. */
const ENDING: ReadonlySet<string> = new Set(['disposed', 'internal', 'worker'])
