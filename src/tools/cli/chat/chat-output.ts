// The output of the chat's line editor. It is silent while something else writes to the terminal, so that
// keys that are typed meanwhile do not appear inside of an answer; the editor shows them with its next
// prompt.
import { Writable } from 'node:stream'

interface Terminal {
  readonly columns: number
  readonly rows: number
  write(text: string): unknown
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

export class ChatOutput extends Writable {
  readonly isTTY = true
  isSilent = false
  readonly #terminal: Terminal
  readonly #resize = () => this.emit('resize')

  constructor(terminal: Terminal) {
    super({ decodeStrings: false })
    this.#terminal = terminal
    terminal.on('resize', this.#resize)
  }

  get columns(): number {
    return this.#terminal.columns
  }

  get rows(): number {
    return this.#terminal.rows
  }

  override _write(text: string, _: BufferEncoding, done: () => void): void {
    if (!this.isSilent) this.#terminal.write(text)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#terminal.off('resize', this.#resize)
    done(error)
  }
}
