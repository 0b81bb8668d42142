// The program in a terminal, for tests. In: arguments and keys. Out: what the terminal gets. Uses `script`,
// which makes a pseudo-terminal on Linux; other systems' `script` has other options.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { afterEach } from 'vitest'
import { MAIN } from './program.ts'

export const hasTerminal =
  process.platform === 'linux' &&
  /util-linux/.test(spawnSync('script', ['--version']).stdout?.toString() ?? '')

export interface TerminalRun {
  /** Everything that was written, with its sequences. */
  readonly raw: string
  /** The same without sequences. */
  readonly text: string
  keys(text: string): void
  /**
   * Waits until the text that was written after the last wait matches. Rejects with it if the program ends.
   */
  until(pattern: RegExp): Promise<string>
  /** Resolves to the exit code. */
  readonly ended: Promise<number | null>
}

const running = new Set<ChildProcess>()
/** Ends the programs that a failed test has left. */
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
})

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Starts the program in a terminal of 80 columns and 24 lines. */
export function startInTerminal(args: readonly string[], env: NodeJS.ProcessEnv = {}): TerminalRun {
  const command = [process.execPath, MAIN, ...args].map(quoted).join(' ')
  const child: ChildProcess = spawn(
    'script',
    ['-qec', `stty cols 80 rows 24; exec ${command}`, '/dev/null'],
    {
      env: { ...process.env, TERM: 'xterm-256color', NO_COLOR: '', VISUAL: '', EDITOR: '', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  running.add(child)
  let raw = ''
  let read = 0
  let check: () => void = () => undefined
  let isOver = false
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    raw += piece
    check()
  })
  const ended = new Promise<number | null>((resolve) =>
    child.on('close', (code) => {
      isOver = true
      running.delete(child)
      check()
      resolve(code)
    }),
  )
  return {
    ended,
    get raw() {
      return raw
    },
    get text() {
      return stripVTControlCharacters(raw)
    },
    keys: (text) => void child.stdin?.write(text),
    until: (pattern) =>
      new Promise((resolve, reject) => {
        check = () => {
          const fresh = stripVTControlCharacters(raw.slice(read)).replaceAll('\r', '')
          if (pattern.test(fresh)) {
            read = raw.length
            resolve(fresh)
          } else if (isOver) reject(new Error(`the program ended before ${pattern}: ${fresh}`))
        }
        check()
      }),
  }
}
