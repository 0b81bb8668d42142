// Reads a conversation without answering it. In: the request and the session's sequence. Out: its state, and
// how much of it had to be read.

import type { Sequence } from '../../core/generate/schedule/sequence.ts'
import { fitPrompt, messageEnds } from '../load/fit.ts'
import type { LoadedModel } from '../load/loaded-model.ts'
import type { Outcome } from '../types/reply.ts'
import type { GenerateRequest } from '../wire/protocol.ts'
import { NO_REPLY, type Outlet } from '../wire/reply-stream.ts'
import { readPrompt } from './reply.ts'
import { checkedOptions } from './reply-options.ts'
import type { Transcript } from './transcript.ts'

/**
 * Stores the state of a conversation up to the end of its last message. If the outlet is cancelled, it ends
 * as `cancelled` and keeps what it has read. Throws like `reply`.
 */
export async function prefill(
  model: LoadedModel,
  sequence: Sequence,
  transcript: Transcript,
  request: GenerateRequest,
  outlet: Outlet,
): Promise<Outcome> {
  const { priority } = checkedOptions(request.options)
  const { seen, prompt } = await readPrompt(model, transcript, request, outlet.signal)
  // What the template adds before an answer is not part of the conversation yet.
  const ids = prompt.slice(0, messageEnds(prompt, model.text.endIds).at(-1))
  const fit = fitPrompt(model, request, ids)
  const outcome = (cachedTokens: number, isWhole: boolean): Outcome => ({
    ...NO_REPLY,
    finishReason: isWhole ? 'stop' : 'cancelled',
    usage: {
      ...NO_REPLY.usage,
      promptTokens: ids.length,
      cachedTokens,
      droppedTokens: ids.length - sequence.tokens.length,
    },
  })
  const { room = 1 } = fit.tokens
  const isReady = ids.length + room <= sequence.contextLength && holds(sequence, ids)
  if (isReady) return outcome(ids.length, true)
  const cachedTokens = sequence.setTokens(ids, fit.tokens)
  const read = [...sequence.tokens]
  sequence.state.markAt(messageEnds(read, model.text.endIds))
  const letGo = await seen.hold(sequence, fit.tokens.keep !== undefined, outlet.signal)
  try {
    await model.scheduler.forward({
      sequence,
      output: 'hidden',
      priority,
      onLogits: () => undefined,
      onPrefill: outlet.prefill,
      signal: outlet.signal,
    })
    sequence.state.checkpoint()
    return outcome(cachedTokens, true)
  } catch (error) {
    if (!outlet.signal.aborted) throw error
    return outcome(cachedTokens, false)
  } finally {
    letGo()
  }
}

/** True if exactly these tokens are stored. `setTokens` would prepare the last one to be run again. */
const holds = ({ cached, tokens }: Sequence, ids: readonly number[]): boolean =>
  cached === ids.length && ids.every((id, index) => tokens[index] === id)
