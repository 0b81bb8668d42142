// `halfbyte chat`: answers lines that are typed in a terminal, or piped. Ctrl-C stops an answer; twice exits.
import { createInterface } from 'node:readline/promises'
import { Command } from 'commander'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import type { Generation, Session } from '../../../engine/api/types.ts'
import { REPLY_OPTIONS } from '../../../engine/reply/reply-options.ts'
import { openEngine } from '../command-engine.ts'
import { type EngineFlags, MODEL, parserOf, withContextOption, withEngineOptions } from '../options.ts'
import { type SamplerFlags, samplerFlags, withSamplerOptions } from '../sampler-flags.ts'
import { runChatCommand } from '../terminal/chat-commands.ts'
import { dimmed, errorLine, interruptible, replyPiece, visible } from '../terminal/failure.ts'
import { offer } from '../terminal/offer.ts'

interface ChatFlags extends EngineFlags, SamplerFlags {
  readonly system?: string
  readonly maxTokens?: number
}

/** Two presses within this many milliseconds exit, even during an answer. */
const TWICE_MS = 1500

export function chatCommand(): Command {
  const command = new Command('chat')
    .description(
      'Talk to a model. Ctrl-C stops an answer; press it twice to exit, or Ctrl-D. Piped lines are answered too. /help lists the commands.',
    )
    .argument('<model>', MODEL)
    .option('--system <text>', 'instructions for the model')
    .option(
      '--max-tokens <n>',
      'maximum tokens per answer; default: until the context is full',
      parserOf(REPLY_OPTIONS.maxTokens),
    )
    .action(chat)
  return withSamplerOptions(withContextOption(withEngineOptions(command)))
}

type Answer = (line: string, signal?: AbortSignal) => Generation

async function chat(model: string, flags: ChatFlags): Promise<void> {
  await using engine = await interruptible(async (signal) => {
    await offer(model, flags, signal)
    return openEngine(model, flags, signal)
  })
  const session = engine.createSession({ system: flags.system })
  const options = { ...samplerFlags(flags), maxTokens: flags.maxTokens }
  const answer: Answer = (line, signal) => session.send(line, { ...options, signal })
  if (process.stdin.isTTY && process.stdout.isTTY) await talk(session, answer)
  else await interruptible((signal) => answerLines(answer, signal))
}

/** Prints one answer per line of stdin, and nothing else on stdout. Stops at the first error. */
async function answerLines(answer: Answer, signal: AbortSignal): Promise<void> {
  for await (const line of createInterface({ input: process.stdin, signal })) {
    if (line.trim() === '') continue
    await print(answer(line, signal))
    process.stdout.write('\n')
  }
  signal.throwIfAborted()
}

async function talk(session: Session, answer: Answer): Promise<void> {
  // While reading from a terminal, Ctrl-C goes to readline; otherwise it reaches the process as a signal.
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' })
  let running: Generation | undefined
  let pressed = Number.NEGATIVE_INFINITY
  let isOver = false
  terminal.on('close', () => {
    isOver = true
    running?.cancel()
  })
  terminal.on('SIGINT', () => {
    const isSecond = performance.now() - pressed < TWICE_MS
    pressed = performance.now()
    if (isSecond) return terminal.close()
    if (running !== undefined) return running.cancel()
    terminal.write(null, { ctrl: true, name: 'u' })
    process.stdout.write('\n(Ctrl-C again to leave)\n')
    terminal.prompt()
  })
  terminal.prompt()
  for await (const line of terminal) {
    if (line.trim() !== '' && !isOver) {
      const told = await commandResult(line, session)
      if (told === undefined) {
        running = answer(line)
        await printTurn(running)
        running = undefined
      } else process.stdout.write(`${visible(told)}\n`)
    }
    if (isOver) break
    terminal.prompt()
  }
  process.stdout.write('\n')
}

/** A command that fails, for example because a disk is full, does not end the conversation. */
const commandResult = (line: string, session: Session): Promise<string | undefined> =>
  runChatCommand(line, session).catch((error) => {
    if (!isHalfbyteError(error)) throw error
    return errorLine(error)
  })

/** A prompt that no longer fits leaves the conversation unchanged; other errors end it. */
async function printTurn(generation: Generation): Promise<void> {
  try {
    await print(generation)
    const { finishReason, timings } = await generation.result
    const rate = timings.decodeTokensPerSecond.toFixed(1)
    process.stdout.write(`\n${dimmed(`[${finishReason}, ${rate} tokens/s]`)}\n`)
  } catch (error) {
    if (!isHalfbyteError(error) || error.code !== 'context-overflow') throw error
    process.stdout.write(`${errorLine(error)}\n`)
  }
}

async function print(generation: Generation): Promise<void> {
  for await (const chunk of generation) process.stdout.write(replyPiece(chunk))
}
