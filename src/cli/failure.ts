// Failures. In: what was thrown, by us or by Node about a file. Out: an error of ours in words, its line, the exit code.
import { getSystemErrorMessage } from 'node:util'
import { CommanderError } from 'commander'
import { type ErrorCode, HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { visible } from './visible.ts'

const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** The code that the system gave an error, e.g. `ENOENT`; undefined for errors that are not the system's. */
export function systemCode(error: unknown): string | undefined {
  const isSystem = error instanceof Error && 'syscall' in error && 'code' in error
  return isSystem && typeof error.code === 'string' ? error.code : undefined
}

/** `<what>: <why>; <next>` under `code`, or under `storage-full` when there is no room. Other errors stay as they are. */
export function systemError(error: unknown, code: ErrorCode, what: string, next: string): unknown {
  const name = systemCode(error)
  if (name === undefined) return error
  const number = (error as NodeJS.ErrnoException).errno
  const why = number === undefined ? name : `${getSystemErrorMessage(number)} (${name})`
  const isFull = NO_ROOM.has(name)
  return new HalfbyteError(
    isFull ? 'storage-full' : code,
    `${what}: ${why}; ${isFull ? 'free some space or choose another place' : next}`,
    { reason: name },
    { cause: error },
  )
}

/** The line that a person reads. */
export function errorLine({ code, message }: HalfbyteError): string {
  return `${code}: ${visible(message.replaceAll(/\s*\n\s*/g, ' '))}`
}

/** Prints what ended a command, if there is something to say, and yields the exit code. */
export function report(error: unknown): number {
  // Commander has printed its own sentence, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  // Whoever read the output wanted no more of it.
  if (systemCode(error) === 'EPIPE') return 0
  if (error instanceof Error && error.name === 'AbortError') {
    process.stderr.write('stopped\n')
    return 130
  }
  if (isHalfbyteError(error)) process.stderr.write(`${errorLine(error)}\n`)
  else
    process.stderr.write(
      `internal: the command failed unexpectedly; please report this\n${visible(trace(error))}\n`,
    )
  return 1
}

const trace = (error: unknown): string => (error instanceof Error && error.stack) || String(error)
