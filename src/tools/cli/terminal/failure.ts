// Turns an error into the line that the user reads, with control characters escaped, and into the exit code.

import { getSystemErrorMap } from 'node:util'
import { CommanderError } from 'commander'
import { type ErrorCode, HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import type { TextChunk } from '../../../engine/api/types.ts'
import { isSet } from '../processes.ts'
import { isFullDisk, systemCode } from '../system-errors.ts'

/** Control characters except line breaks and tabs, and characters that change the direction of text. */
const OBEYED = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu

/** JSON escapes, so that JSON stays valid. */
export const visible = (text: string): string =>
  text.replaceAll(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** For names. Also escapes line breaks, so that a name cannot look like another line. */
export const visibleLine = (text: string): string => visible(text).replaceAll('\n', '\\n')

/** True for a terminal that can't move its cursor. */
export const isDumb = ({ TERM }: NodeJS.ProcessEnv = process.env): boolean => TERM === 'dumb'

/** True if the user wants neither styles nor lines that are replaced. */
export const isPlain = (env: NodeJS.ProcessEnv = process.env): boolean =>
  isSet('NO_COLOR', env) || isDumb(env)

/** Dimmed, unless the terminal is plain. */
export const dimmed = (text: string, env: NodeJS.ProcessEnv = process.env): string =>
  isPlain(env) ? text : `\x1b[2m${text}\x1b[22m`

/**
 * A piece of a reply. A terminal shows the model's reasoning dimmed; pipes and files get only the answer,
 * unchanged.
 */
export function replyPiece({ text, reasoning }: Pick<TextChunk, 'text' | 'reasoning'>): string {
  if (!process.stdout.isTTY) return text
  return reasoning === undefined ? visible(text) : dimmed(visible(reasoning))
}

export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  // The listener runs once. After that Node's default applies, so a second signal ends work that takes too
  // long to stop.
  const interrupt = () => controller.abort()
  process.once('SIGINT', interrupt)
  try {
    return await work(controller.signal)
  } finally {
    process.off('SIGINT', interrupt)
  }
}

/** The exit code. */
export const EXIT_CODES = { done: 0, failed: 1, wrongUsage: 2, stopped: 130 } as const

/**
 * `<what>: <why>; <next>` under `code`, or under `storage-full` if the disk is full. Other errors are
 * returned unchanged.
 */
export function systemError(error: unknown, code: ErrorCode, what: string, next: string): unknown {
  const name = systemCode(error)
  if (name === undefined) return error
  const number = (error as NodeJS.ErrnoException).errno
  const [, message] = (number !== undefined && getSystemErrorMap().get(number)) || []
  const why = message === undefined ? name : `${message} (${name})`
  const isFull = isFullDisk(error)
  return new HalfbyteError(
    isFull ? 'storage-full' : code,
    `${what}: ${why}; ${isFull ? 'free some space or choose another place' : next}`,
    { reason: name },
    { cause: error },
  )
}

/**
 * Standard output failed. A closed pipe is returned unchanged, because `report` doesn't count it as an error.
 */
export const outputError = (error: unknown): unknown =>
  systemCode(error) === 'EPIPE'
    ? error
    : systemError(error, 'unsupported', 'standard output cannot be written', 'send it to another place')

/** Why `fetch` failed in Node, as a code or in words; undefined for other errors. */
function connectionFailure(error: unknown): string | undefined {
  let words: string | undefined
  for (let each = error; each instanceof Error; each = each.cause) {
    if ('code' in each && typeof each.code === 'string' && /^[A-Z][A-Z_]+$/.test(each.code)) return each.code
    if (!isHalfbyteError(each)) words = each.message
  }
  return words
}

/** Says why a server could not be reached. Other errors are returned unchanged. */
export function unreached(error: unknown, address: string): unknown {
  const code = connectionFailure(error)
  if (!isHalfbyteError(error) || error.code !== 'network' || code === undefined) return error
  const { host } = new URL(address)
  const why =
    code === 'ENOTFOUND' || code === 'EAI_AGAIN'
      ? `the name ${host} is not known here (${code})`
      : `${host} could not be reached (${code})`
  return new HalfbyteError(
    'network',
    `${address} could not be fetched: ${why}; check the address and the connection; behind a proxy, set NODE_USE_ENV_PROXY=1 in Node 24`,
    { reason: code },
    { cause: error },
  )
}

/** The line that the user reads. */
export function errorLine({ code, message }: HalfbyteError): string {
  return `${code}: ${visible(message.replaceAll(/\s*\n\s*/g, ' '))}`
}

/** Prints the error that ended a command, unless it is already printed, and returns the exit code. */
export function report(error: unknown): number {
  // Commander has already printed its own error, or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.wrongUsage
  // The reader of the output closed it early, which is not an error.
  if (systemCode(error) === 'EPIPE') return EXIT_CODES.done
  if (error instanceof Error && error.name === 'AbortError') {
    process.stderr.write('stopped\n')
    return EXIT_CODES.stopped
  }
  if (isHalfbyteError(error)) process.stderr.write(`${errorLine(error)}\n`)
  else
    process.stderr.write(
      `internal: the command failed unexpectedly; please report this\n${visible(trace(error))}\n`,
    )
  return EXIT_CODES.failed
}

const trace = (error: unknown): string => (error instanceof Error && error.stack) || String(error)
