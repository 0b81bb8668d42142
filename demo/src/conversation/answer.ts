// An answer. In: a speaker and a conversation that ends with a question. Out: the streaming answer, the tools
// that it uses, and the engine's figures.
import { type GenerationResult, HalfbyteError, isHalfbyteError } from '../../../src/index.ts'
import { type Training, trainingOf } from '../models/training.ts'
import type { Settings } from '../shell/settings.ts'
import type { UsedTool } from '../tools/tools.ts'
import { calculateAsked, checkedWords, resultsOf, type Said, useTool } from '../tools/use-tool.ts'
import { t } from '../words/later-words.ts'
import { wantsCare } from './care.ts'
import { splitQuotes } from './files/attachments.ts'
import { readQuestion } from './files/read-question.ts'
import { isOtherLanguage } from './other-language.ts'
import { withoutCalls } from './render/calls.ts'
import { type Listener, listen } from './speech/listen.ts'
import { Speaker } from './speech/speaker.ts'
import type { Conversation, Ending, Read, StoredMessage } from './store/conversations.ts'
import type { Asked } from './store/versions.ts'

export { Speaker, trainingOf }

/** The engine's report about an answer. */
export interface Figures {
  readonly tokensPerSecond: number
  readonly firstTokenMs: number
  readonly contextUsed: number
  /** Prompt tokens that had to be processed; the others were cached. */
  readonly readTokens: number
  readonly promptTokens: number
  readonly writtenTokens: number
}

/** An answer so far. */
export interface Answer {
  readonly content: string
  readonly thoughts?: string
  readonly read?: Read
  readonly used?: readonly UsedTool[]
  readonly seenFrom?: number
  readonly ending?: Ending
}

/** The page that displays a streaming answer. */
export interface AnswerPage extends Omit<Listener, 'grow'> {
  grow(answer: Answer): void
  /** Called when the answer has ended without an error. */
  measured(figures: Figures): void
  /** Called with the error that ended the answer. */
  failed(error: unknown): void
}

/** Maximum number of tool calls in one answer. A model might otherwise call tools forever. */
const MOST_TOOLS = 4

/**
 * Generates the answer to a conversation's last message, or the rest of an answer that was `begun`. After an
 * error this resolves to the partial answer, marked as interrupted.
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
  let seenFrom = 0
  let read = begun?.read
  const soFar = (): Answer => ({
    content,
    ...(seenFrom > 0 && { seenFrom }),
    ...(thoughts !== '' && { thoughts }),
    ...(read && { read }),
    ...(used.length > 0 && { used }),
  })
  const listener: Listener = {
    grow(grown, thought) {
      content = withoutCalls(start + grown, true)
      if (thought !== '') thoughts = thought
      page.grow(soFar())
    },
    room: (letters) => page.room(letters),
  }
  const said = saidBefore(messages)
  try {
    read ??= await readQuestion(speaker, messages, settings, stop, (searching) => {
      read = searching
      page.grow(soFar())
    })
    const speak = async () => {
      const generation = await speaker.answer(id, messages, settings, begun, read)
      seenFrom = speaker.seenFrom
      return listen(generation, stop, listener)
    }
    let result = await speak().catch((error: unknown) => {
      if (!speaker.goesOnWithout(error)) throw error
      return speak()
    })
    let says: string | undefined
    for (let calls = result.toolCalls ?? []; calls.length > 0; calls = result.toolCalls ?? []) {
      if (stop.aborted || used.length >= MOST_TOOLS) break
      const uses = calls.map((call) => useTool(call, withResults(said, used)))
      const results = uses.map((use) => use.used)
      used = [...used, ...results]
      says = uses.findLast((use) => use.says !== undefined)?.says
      page.grow(soFar())
      if (says !== undefined) break
      result = await listen(speaker.goOn(results, settings), stop, listener)
    }
    const isWhole = result.finishReason === 'stop' && !stop.aborted
    if (isWhole && used.length === 0 && speaker.hasTools(settings)) {
      const own = calculateAsked(said, `page${messages.length}`)
      if (own !== undefined) used = [own.used]
      says = own?.says
    }
    content = says ?? withoutCalls(content, false)
    const isSilent = !stop.aborted && content.trim() === ''
    if (isWhole || isSilent) content = worded(content, thoughts, used, said)
    // The page's own texts cannot be continued.
    const isOurs = isSilent && content.trim() !== ''
    // The page shows it like a model's answer, starting with the next frame.
    page.grow(soFar())
    page.measured(figuresOf(result, speaker))
    return { ...soFar(), ...(!isOurs && endingOf(result)) }
  } catch (error) {
    if (read?.by === 'searching') read = undefined
    page.failed(await explained(error, speaker, messages, settings))
    return { ...soFar(), ending: 'interrupted' }
  }
}

/**
 * The page's own answers: help for someone who may be in danger, and a note for a model that knows only one
 * language.
 */
export function ownAnswer(
  messages: readonly StoredMessage[],
  { isEnglish }: Pick<Training, 'isEnglish'>,
): string | undefined {
  if (wantsCare(messages)) return t('careAnswer')
  const last = messages.at(-1)
  const isOther = last?.role === 'user' && isOtherLanguage(splitQuotes(last.content).text)
  return isEnglish && isOther ? t('englishAnswer') : undefined
}

/** Reports a text that is too long, with the length that the model reads. */
async function explained(
  error: unknown,
  speaker: Speaker,
  messages: readonly StoredMessage[],
  settings: Settings,
): Promise<unknown> {
  if (!isHalfbyteError(error) || error.code !== 'context-overflow') return error
  const { content: text, pictures } = messages.findLast(({ role }) => role === 'user') ?? { content: '' }
  if (pictures !== undefined) return error
  try {
    const most = await speaker.readable(text, settings)
    const isOwnLimit = speaker.engine.model.contextLength < settings.contextLength
    const detail = { ...error.detail, letters: text.length, most, isOwnLimit }
    return new HalfbyteError(error.code, error.message, detail, { cause: error })
  } catch {
    return error
  }
}

/** The calculator's input: the question and earlier results. */
const saidBefore = (messages: readonly StoredMessage[]): Said => ({
  question: messages.findLast(({ role }) => role === 'user')?.content ?? '',
  results: messages.flatMap(({ used = [] }) => resultsOf(used)),
})

const withResults = ({ question, results }: Said, used: readonly UsedTool[]): Said => ({
  question,
  results: [...results, ...resultsOf(used)],
})

/** An answer to show, even if the model said nothing or only called a tool. */
function worded(content: string, thoughts: string, used: readonly UsedTool[], said: Said): string {
  if (content.trim() !== '') return checkedWords(content, used, said)
  const result = used.at(-1)?.result
  return result ?? (thoughts === '' ? t('noAnswer') : content)
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
