// `halfbyte chat`: answers lines that are typed in a terminal, or piped. Ctrl-C stops an answer; twice exits.
import { createInterface } from 'node:readline/promises'
import { Command } from 'commander'
import type { Generation } from '../../api/types.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { openEngine } from '../command-engine.ts'
import { type EngineFlags, MODEL, whole, withContextOption, withEngineOptions } from '../options.ts'
import { type SamplerFlags, samplerFlags, withSamplerOptions } from '../sampler-flags.ts'
import { errorLine, interruptible, replyPiece } from '../terminal/failure.ts'
import { offer } from '../terminal/offer.ts'

interface ChatFlags extends EngineFlags, SamplerFlags {
  readonly system?: string
  readonly maxTokens?: number
}

/** Two presses within this many milliseconds exit, whatever is running. */
const TWICE_MS = 1500

export function chatCommand(): Command {
  const command = new Command('chat')
    .description(
      'Talk to a model. Ctrl-C stops an answer; pressed twice it exits, like Ctrl-D. Piped lines are answered too.',
    )
    .argument('<model>', MODEL)
    .option('--system <text>', 'instructions for the model')
    .option('--max-tokens <n>', 'most tokens of an answer; default: until the context is full', whole(1))
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
  if (process.stdin.isTTY && process.stdout.isTTY) await talk(answer)
  else await interruptible((signal) => answerLines(answer, signal))
}

/** One answer for each line of stdin, and nothing else on stdout. The first error ends it. */
async function answerLines(answer: Answer, signal: AbortSignal): Promise<void> {
  for await (const line of createInterface({ input: process.stdin, signal })) {
    if (line.trim() === '') continue
    await print(answer(line, signal))
    process.stdout.write('\n')
  }
  signal.throwIfAborted()
}

async function talk(answer: Answer): Promise<void> {
  // While a terminal is read, Ctrl-C goes to readline; otherwise it reaches the process as a signal.
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
      running = answer(line)
      await printTurn(running)
      running = undefined
    }
    if (isOver) break
    terminal.prompt()
  }
  process.stdout.write('\n')
}

/** A prompt that no longer fits leaves the conversation unchanged; other errors end it. */
async function printTurn(generation: Generation): Promise<void> {
  try {
    await print(generation)
    const { finishReason, timings } = await generation.result
    const rate = timings.decodeTokensPerSecond.toFixed(1)
    process.stdout.write(`\n\x1b[2m[${finishReason}, ${rate} tokens/s]\x1b[22m\n`)
  } catch (error) {
    if (!isHalfbyteError(error) || error.code !== 'context-overflow') throw error
    process.stdout.write(`${errorLine(error)}\n`)
  }
}

async function print(generation: Generation): Promise<void> {
  for await (const chunk of generation) process.stdout.write(replyPiece(chunk))
}
