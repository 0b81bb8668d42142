// Lines at the end of a terminal that may still change. In: all lines as they should look. Out: what has to
// be written for that, beginning at the first line that differs.

/** Shows several changed lines at once, in terminals that know the mode. */
const SYNC = { on: '\x1b[?2026h', off: '\x1b[?2026l' } as const
const CLEAR_REST_OF_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

export class LiveLines {
  readonly #write: (text: string) => void
  readonly #rows: () => number
  /** The lines on the terminal. The cursor is at the end of the last one. */
  #lines: readonly string[] = []
  /** The first line that can be replaced. */
  #floor = 0

  /** `rows`: height of the terminal, beyond which no line can be replaced. */
  constructor(write: (text: string) => void, rows: () => number) {
    this.#write = write
    this.#rows = rows
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  /** Each line must fit into the terminal's width. */
  show(lines: readonly string[]): void {
    const before = this.#lines
    const last = Math.max(0, before.length - 1)
    const shared = lines.findIndex((line, index) => line !== before[index])
    const differs = shared < 0 ? lines.length : shared
    if (differs === lines.length && lines.length >= before.length) return
    // Lines above the top of the screen cannot be rewritten.
    const first = Math.max(Math.min(differs, last, lines.length - 1), last - this.#rows() + 1, this.#floor)
    this.#lines = lines
    const old = before[first] ?? ''
    if (first === last && lines[first]?.startsWith(old)) {
      this.#write([lines[first]?.slice(old.length), ...lines.slice(first + 1)].join('\n'))
      return
    }
    const up = last - first
    const rest = lines.slice(first).join(`${CLEAR_REST_OF_LINE}\n`)
    const text = `\r${up > 0 ? `\x1b[${up}A` : ''}${rest}${CLEAR_REST_OF_LINE}${before.length > lines.length ? CLEAR_BELOW : ''}`
    this.#write(up > 0 ? SYNC.on + text + SYNC.off : text)
  }

  /**
   * The terminal has become narrower, so lines may have been broken and none can be replaced. Goes to a new
   * line, after which `lines` continue.
   */
  restart(lines: readonly string[]): void {
    this.#write('\n')
    this.#lines = [...lines, '']
    this.#floor = lines.length
  }
}
