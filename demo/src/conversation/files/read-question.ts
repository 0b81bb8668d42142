// Chooses what the model reads of a question's files: all of them if they fit in its context, and otherwise
// the passages nearest to the question.
import { bestOf, commonWords, cutText, wordsOf } from '../../../../src/ui/chat/passages.ts'
import type { Settings } from '../../shell/settings.ts'
import { t } from '../../words/later-words.ts'
import type { Speaker } from '../speech/speaker.ts'
import type { Read, StoredMessage } from '../store/conversations.ts'
import { splitQuotes, type TextFile, withQuotes } from './attachments.ts'

/** Passages per question. More would take a phone too long to read. */
const MOST_PASSAGES = 6
/** Share of the space for a question that passages may use, to leave room for the conversation. */
const SHARE = 0.5

/**
 * Undefined for a question that is not about files. A question without its own files is about those that
 * an earlier answer read in passages. With a search model, `settings.search`, passages are found by meaning,
 * otherwise by the words that they share with the question.
 */
export async function readQuestion(
  speaker: Speaker,
  messages: readonly StoredMessage[],
  settings: Settings,
  stop: AbortSignal,
  onProgress: (read: Read) => void,
): Promise<Read | undefined> {
  const question = messages.at(-1)
  if (question?.role !== 'user') return undefined
  const { text, files: own } = splitQuotes(question.content)
  const files = own.length > 0 ? own : filesReadInPassages(messages)
  if (files.length === 0) return undefined
  if (own.length > 0 && (await speaker.fits(question, settings, 1))) return { by: 'whole' }
  const passages = files.flatMap(passagesOf)
  const { by, scores } = await scoresOf(text, passages, settings.search, stop, (done) =>
    onProgress({ by: 'searching', done, all: passages.length }),
  )
  const best = bestOf(scores, MOST_PASSAGES)
  for (;;) {
    // In text order, which is easier for the model to follow.
    const chosen = best.toSorted((a, b) => a - b).flatMap((index) => passages[index] ?? [])
    const read: Read = { by, text: withQuotes(text, chosen), all: passages.length }
    if (best.length <= 1 || (await speaker.fits({ ...question, content: read.text }, settings, SHARE)))
      return read
    best.pop()
  }
}

/** The newest file with each name. */
function filesReadInPassages(messages: readonly StoredMessage[]): readonly TextFile[] {
  const files = new Map<string, TextFile>()
  for (const [index, { content, role }] of messages.entries()) {
    const read = messages[index + 1]?.read
    if (role !== 'user' || read === undefined || read.by === 'whole') continue
    for (const file of splitQuotes(content).files) files.set(file.name, file)
  }
  return [...files.values()]
}

/** Each passage with the name of its file and its page or number. Form feeds separate pages. */
function passagesOf({ name, text }: TextFile): readonly TextFile[] {
  const pages = text.split('\f')
  const cut = pages.flatMap((page, index) => cutText(page).map((part) => ({ part, page: index + 1 })))
  return cut.map(({ part, page }, index) => {
    const place = pages.length > 1 ? t('pageOf', { page }) : t('partOf', { part: index + 1, all: cut.length })
    return { name: `${name}, ${place}`, text: part }
  })
}

interface Scores {
  readonly by: 'words' | 'meaning'
  readonly scores: readonly number[]
}

/** A failing search model must not prevent an answer. */
async function scoresOf(
  question: string,
  passages: readonly TextFile[],
  search: string,
  stop: AbortSignal,
  onProgress: (done: number) => void,
): Promise<Scores> {
  if (search !== '' && question !== '') {
    try {
      const { nearness } = await import('./search-model.ts')
      const texts = passages.map(({ text }) => text)
      return { by: 'meaning', scores: await nearness(search, question, texts, stop, onProgress) }
    } catch {
      stop.throwIfAborted()
    }
  }
  const scores = commonWords(
    wordsOf(question),
    passages.map(({ text }) => wordsOf(text)),
  )
  return { by: 'words', scores }
}
