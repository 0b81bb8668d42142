// The terminal of `halfbyte chat`: reads messages and commands, prints answers, and stops them on Ctrl-C.
import { createInterface, type Interface, type Key } from 'node:readline'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import type { Generation } from '../../../engine/api/types.ts'
import { dimmed, errorLine, isDumb, replyPiece, visible } from '../terminal/failure.ts'
import type { History } from '../terminal/history.ts'
import { runChatCommand } from './chat-commands.ts'
import type { Conversation } from './conversation.ts'
import { MessageLines } from './message-lines.ts'

/** Two presses within this many milliseconds exit, even during an answer. */
const TWICE_MS = 1500

/** Ask the terminal to mark pasted text, and to stop doing so. */
const PASTE_MARKS = { on: '\x1b[?2004h', off: '\x1b[?2004l' } as const

const FIRST_LINE = '> '
const FURTHER_LINE = '. '

/** Talks until the input ends or Ctrl-C is pressed twice. */
export async function talk(chat: Conversation, history: History): Promise<void> {
  // A dumb terminal can't move its cursor, so the system's own line editing applies.
  const terminal = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: !isDumb(),
    history: [...history.lines],
    historySize: Math.max(1000, history.lines.length),
  })
  const talking = new Talk(chat, history, terminal)
  try {
    if (!isDumb()) process.stdout.write(PASTE_MARKS.on)
    await talking.finished
  } finally {
    terminal.close()
    process.stdout.write(`${isDumb() ? '' : PASTE_MARKS.off}\n`)
  }
}

class Talk {
  readonly finished: Promise<void>
  readonly #chat: Conversation
  readonly #terminal: Interface
  readonly #lines = new MessageLines()
  #running: Generation | undefined
  #isBusy = false
  #isPasting = false
  #isOver = false
  #pressedAt = Number.NEGATIVE_INFINITY

  constructor(chat: Conversation, history: History, terminal: Interface) {
    this.#chat = chat
    this.#terminal = terminal
    const interrupt = () => this.#interrupt()
    const onKey = (_: string | undefined, { name }: Key) => {
      if (name === 'paste-start') this.#isPasting = true
      if (name === 'paste-end') this.#isPasting = false
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
        turns = turns.then(() => this.#turn(message))
        turns.catch(reject)
      })
      terminal.on('close', () => {
        this.#isOver = true
        this.#running?.cancel()
        turns.then(resolve, reject)
      })
    }).finally(() => {
      process.stdin.off('keypress', onKey)
      process.off('SIGINT', interrupt)
    })
    this.#prompt()
  }

  #prompt(): void {
    if (this.#isOver || this.#isBusy || this.#isPasting) return
    this.#terminal.setPrompt(this.#lines.isOpen ? FURTHER_LINE : FIRST_LINE)
    this.#terminal.prompt()
  }

  #interrupt(): void {
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
    process.stdout.write('\n(Ctrl-C again to leave)\n')
    this.#prompt()
  }

  async #turn(message: string): Promise<void> {
    if (this.#isOver) return
    this.#isBusy = true
    if (message.trim() !== '') await this.#answer(message)
    this.#isBusy = false
    this.#prompt()
  }

  /**
   * What fails without ending the engine, such as a full disk or context, leaves the conversation as it was.
   */
  async #answer(message: string): Promise<void> {
    try {
      const command = await runChatCommand(message, this.#chat)
      const said = command === undefined ? this.#chat.say(message) : command.said
      if (typeof said === 'string') process.stdout.write(`${visible(said)}\n`)
      else await this.#print(said)
    } catch (error) {
      if (!isHalfbyteError(error) || ENDING.has(error.code)) throw error
      process.stdout.write(`${errorLine(error)}\n`)
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

export async function printReply(generation: Generation): Promise<void> {
  for await (const chunk of generation) process.stdout.write(replyPiece(chunk))
}
