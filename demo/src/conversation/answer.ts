// An answer. In: a speaker and a conversation that ends with a question. Out: the streaming answer, the tools
// that it uses, and the engine's figures.
import { type GenerationResult, HalfbyteError, isHalfbyteError } from '../../../src/index.ts'
import { careAnswer } from '../../../src/ui/assist/index.ts'
import { whenLong } from '../../../src/ui/chat/reading/progress.ts'
import { type Training, trainingOf } from '../models/training.ts'
import type { Settings } from '../shell/settings.ts'
import { CHOOSING, stepOfRun, type UsedTool } from '../tools/tools.ts'
import { asksForValue, exactUse, resultsOf, useTool } from '../tools/use-tool.ts'
import { t } from '../words/later-words.ts'
import { splitQuotes } from './files/attachments.ts'
import { readQuestion } from './files/read-question.ts'
import { isOtherLanguage } from './other-language.ts'
import { withoutCalls } from './render/calls.ts'
import { declinesItself, heardBy, scopeOf } from './scope/scope.ts'
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
  readonly declined?: true
}

/** The page that displays a streaming answer. */
export interface AnswerPage extends Omit<Listener, 'grow' | 'ran'> {
  grow(answer: Answer): void
  /** Called when the answer has ended without an error. */
  measured(figures: Figures): void
  /** Called with the error that ended the answer. */
  failed(error: unknown): void
}

/**
 * Generates the answer to a conversation's last message, or the rest of an answer that was `begun`. After an
 * error, this resolves to the partial answer, marked as interrupted.
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
    ran(run) {
      const step = stepOfRun(run)
      used = [...used.filter(({ state }) => state !== 'running'), step]
      page.grow(soFar())
    },
    room: (letters) => page.room(letters),
  }
  if (!speaker.readsFiles && hasFiles(messages)) return { content: t('documentsSmall'), declined: true }
  try {
    if (speaker.readsFiles)
      read ??= await readQuestion(speaker, messages, settings, stop, (searching) => {
        read = searching
        page.grow(soFar())
      })
    if (begun === undefined && speaker.choosesCall(messages, settings)) {
      used = [CHOOSING]
      page.grow(soFar())
      const call = await speaker.call(messages, settings, stop)
      used = call === undefined ? [] : [call]
      page.grow(soFar())
    }
    const told = used
    const heard = heardBy(messages, speaker.isStoryteller)
    const speak = async () => {
      const onPrefill = whenLong(({ tokens, total }) =>
        page.grow({ ...soFar(), read: { by: 'prompt', done: tokens, all: total } }),
      )
      const generation = await speaker.answer(id, heard.messages, settings, { begun, read, told, onPrefill })
      seenFrom = heard.places[speaker.seenFrom] ?? 0
      return listen(generation, stop, listener)
    }
    const { result, loopAt } = await speak().catch((error: unknown) => {
      if (!speaker.goesOnWithout(error)) throw error
      return speak()
    })
    const uses = stop.aborted ? [] : (result.toolCalls ?? []).map((call) => useTool(call))
    used = [...used, ...uses.map((use) => use.used)]
    content = uses.at(-1)?.says ?? withoutCalls(content, false)
    const isDeclined = speaker.isStoryteller && declinesItself(content, heard.messages.at(-1)?.content)
    if (isDeclined) content = t('declined')
    const isSilent = !stop.aborted && content.trim() === ''
    if (isSilent && thoughts === '') content = t('noAnswer')
    // The page's own texts cannot be continued.
    const isOurs = isSilent && content.trim() !== ''
    // The page shows it like a model's answer, starting with the next frame.
    page.grow(soFar())
    page.measured(figuresOf(result, speaker))
    const ending = loopAt === undefined ? endingOf(result) : { ending: 'loop' as const }
    return { ...soFar(), ...(isDeclined && { declined: true }), ...(!isOurs && !isDeclined && ending) }
  } catch (error) {
    if (read?.by === 'searching') read = undefined
    page.failed(await explained(error, speaker, messages, settings))
    return { ...soFar(), ending: 'interrupted' }
  }
}

/** The page's reply to a question that none of its models should answer. */
const REFUSALS = {
  advice: 'declinedAdvice',
  harm: 'declinedHarm',
  outside: 'declinedOutside',
  unclear: 'unclear',
} as const

/**
 * The page's own answer, which needs no model: help for someone who may be in danger, a computed value, or a
 * sentence that declines what the embedded model was not trained for, such as reading files.
 */
export function ownAnswer(
  messages: readonly StoredMessage[],
  { isStoryteller }: Pick<Training, 'isStoryteller'>,
  { tools }: Pick<Settings, 'tools'>,
): Answer | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'user') return undefined
  const { text, files } = splitQuotes(last.content)
  // Long pasted text becomes a file; a file that accompanies a message is not the user's own words.
  const care = (text === '' ? files.map((file) => file.text) : [text])
    .map((said) => careAnswer(said))
    .find(Boolean)
  if (care) return { content: care.text }
  if (files.length > 0 && isStoryteller) return { content: t('documentsSmall'), declined: true }
  const computes = tools === 'on' && files.length === 0
  const results = messages.flatMap(({ used = [] }) => resultsOf(used))
  const exact = computes ? exactUse(text, results, `page${messages.length}`) : undefined
  if (exact) return { content: exact.says, used: [exact.used] }
  if (!isStoryteller) return undefined
  const scope = scopeOf(messages, text)
  if ('heard' in scope) return undefined
  if ('named' in scope)
    return { content: scope.named === undefined ? t('noName') : t('yourName', { name: scope.named }) }
  if (scope.declined !== 'beyond') return { content: t(REFUSALS[scope.declined]) }
  const isForeign = isOtherLanguage(text)
  const word = isForeign ? 'englishAnswer' : computes && asksForValue(text) ? 'sumUnread' : 'declined'
  return { content: t(word), declined: true }
}

/** True if the question itself has files attached. */
const hasFiles = (messages: readonly StoredMessage[]): boolean =>
  splitQuotes(messages.at(-1)?.content ?? '').files.length > 0

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
