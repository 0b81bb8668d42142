// An answer. In: a speaker and a conversation that ends with a question. Out: the answer as it grows, the
// tools that it uses, and the engine's figures.
import type { GenerationResult } from '../../../src/index.ts'
import type { Settings } from '../shell/settings.ts'
import { type UsedTool, useTool } from '../tools/tools.ts'
import { type Listener, listen } from './listen.ts'
import type { Speaker } from './speaker.ts'
import type { Conversation, Ending } from './store/conversations.ts'
import type { Asked } from './store/versions.ts'

/** What the engine reported about an answer. */
export interface Figures {
  readonly tokensPerSecond: number
  readonly firstTokenMs: number
  readonly contextUsed: number
  /** Tokens of the prompt that had to be run; the others were cached. */
  readonly readTokens: number
  readonly promptTokens: number
  readonly writtenTokens: number
}

/** An answer as far as it came. */
export interface Answer {
  readonly content: string
  readonly thoughts?: string
  readonly used?: readonly UsedTool[]
  readonly ending?: Ending
}

/** The page that an answer grows in. */
export interface AnswerPage extends Omit<Listener, 'grow'> {
  grow(answer: Answer): void
  /** Called when the answer has ended without an error. */
  measured(figures: Figures): void
  /** Called with the error that ended the answer. */
  failed(error: unknown): void
}

/** Calls of tools in one answer. A model that only calls would not end by itself. */
const MOST_TOOLS = 4

/**
 * Generates the answer to a conversation's last message, or the rest of the answer that was `begun`. After an
 * error this resolves to what there is of it, marked as interrupted.
 */
export async function speakAnswer(
  speaker: Speaker,
  { id, messages }: Conversation,
  begun: Asked['begun'],
  settings: Settings,
  stop: AbortSignal,
  page: AnswerPage,
): Promise<Answer> {
  const { content: start = '', used: usedBefore = [] } = begun ?? {}
  let content = start
  let thoughts = begun?.thoughts ?? ''
  let used: readonly UsedTool[] = usedBefore
  const soFar = (): Answer => ({
    content,
    ...(thoughts !== '' && { thoughts }),
    ...(used.length > 0 && { used }),
  })
  const listener: Listener = {
    grow(grown, thought) {
      content = start + grown
      if (thought !== '') thoughts = thought
      page.grow(soFar())
    },
    save: () => page.save(),
    room: (letters) => page.room(letters),
  }
  try {
    let result = await listen(await speaker.answer(id, messages, settings, begun), stop, listener)
    for (let calls = result.toolCalls ?? []; calls.length > 0; calls = result.toolCalls ?? []) {
      if (stop.aborted || used.length >= MOST_TOOLS) break
      const results = calls.map((call) => ({ ...call, result: useTool(call) }))
      used = [...used, ...results]
      page.grow(soFar())
      result = await listen(speaker.goOn(results, settings), stop, listener)
    }
    // The result alone, where the model adds nothing to it.
    if (content.trim() === '') content = used.at(-1)?.result ?? ''
    page.measured(figuresOf(result, speaker))
    return { ...soFar(), ...endingOf(result) }
  } catch (error) {
    page.failed(error)
    return { ...soFar(), ending: 'interrupted' }
  }
}

function figuresOf({ timings, usage }: GenerationResult, { contextUsed }: Speaker): Figures {
  return {
    tokensPerSecond: timings.decodeTokensPerSecond,
    firstTokenMs: timings.firstTokenMs,
    contextUsed,
    readTokens: usage.promptTokens - usage.cachedTokens,
    promptTokens: usage.promptTokens,
    writtenTokens: usage.completionTokens,
  }
}

function endingOf({ finishReason }: GenerationResult): { readonly ending?: Ending } {
  return finishReason === 'stop' ? {} : { ending: finishReason }
}
