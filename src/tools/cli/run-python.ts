// Starts Python programs, and says why one failed or did not start.
import { type ChildProcess, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { systemCode } from './system-errors.ts'

/** The program given by `--python`, or the one that most systems have. */
export const DEFAULT_PYTHON = process.platform === 'win32' ? 'python' : 'python3'

/**
 * The beginning of a program that is passed with `-c`: Python would otherwise look for packages in the
 * working folder too, which may belong to anyone.
 */
export const SAFE_PATH = 'import sys\nsys.path[:] = [place for place in sys.path if place]\n'

interface Started {
  /** Its stdin and stdout are pipes. */
  readonly child: ChildProcess
  /** Why it failed or did not start; undefined if it succeeded. Never rejects. */
  readonly failure: Promise<string | undefined>
}

export function startPython(python: string, args: readonly string[]): Started {
  const child = spawn(python, args, { stdio: 'pipe' })
  // A program that has ended cannot be told anything.
  child.stdin.on('error', () => undefined)
  const said = text(child.stderr).catch(() => '')
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  child.once('error', (error) => resolve(`it could not be started (${systemCode(error) ?? error.message})`))
  child.once('close', async (code, killed) =>
    resolve(code === 0 ? undefined : lastLine(await said) || `it ended with ${killed ?? code}`),
  )
  return { child, failure: promise }
}

interface Ran {
  readonly failure: string | undefined
  readonly out: string
}

/** Ends the program if the signal is aborted, and throws the signal's reason once it has ended. */
export async function runPython(
  python: string,
  args: readonly string[],
  signal: AbortSignal,
  onText?: (text: string) => void,
): Promise<Ran> {
  signal.throwIfAborted()
  const { child, failure } = startPython(python, args)
  child.stdin?.end()
  let out = ''
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    out += piece
    onText?.(piece)
  })
  const stop = () => child.kill()
  signal.addEventListener('abort', stop)
  const why = await failure.finally(() => signal.removeEventListener('abort', stop))
  signal.throwIfAborted()
  return { failure: why, out }
}

const lastLine = (said: string): string => said.trim().split('\n').at(-1)?.trim() ?? ''
