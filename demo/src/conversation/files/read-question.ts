// Chooses what the model reads of a question's files: all of them if they fit in its context, and otherwise
// the passages nearest to the question.
import { chosenPassages, PASSAGES_SHARE } from '../../../../src/ui/documents/choose.ts'
import { placeText } from '../../../../src/ui/documents/place-text.ts'
import { type FoundPassage, searchIn } from '../../../../src/ui/documents/search.ts'
import type { Settings } from '../../shell/settings.ts'
import { laterWords } from '../../words/later-words.ts'
import { language } from '../../words/words.ts'
import type { Speaker } from '../speech/speaker.ts'
import type { Read, StoredMessage } from '../store/conversations.ts'
import { splitQuotes, type TextFile, withQuotes } from './attachments.ts'

/**
 * Undefined for a question that is not about files. A question without its own files is about those that
 * an earlier answer read in passages. With a search model, `settings.search`, passages are found by meaning
 * as well, otherwise by the words that they share with the question.
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
  const search = searchIn(files)
  const quoted = (passages: readonly FoundPassage[]) =>
    withQuotes(
      text,
      passages.map((passage) => sourceOf(passage, files)),
    )
  const fits = (passages: readonly FoundPassage[]) =>
    speaker.fits({ ...question, content: quoted(passages) }, settings, PASSAGES_SHARE)
  const asked = { text, earlier: own.length > 0 ? '' : earlierText(messages) }
  const choose = (options?: Parameters<typeof chosenPassages>[3]) =>
    chosenPassages(search, asked, fits, options)
  const encoder = await searchModel(settings.search, stop)
  const all = search.passages.length
  if (encoder !== undefined) {
    try {
      const onRead = (done: number) => onProgress({ by: 'searching', done, all })
      const chosen = await choose({ encoder, signal: stop, onProgress: onRead })
      return { by: 'meaning', text: quoted(chosen), all }
    } catch {
      // A failing search model must not prevent an answer.
      stop.throwIfAborted()
    }
  }
  return { by: 'words', text: quoted(await choose()), all }
}

/** Undefined without a search model, or if it does not load. */
async function searchModel(address: string, stop: AbortSignal) {
  if (address === '') return undefined
  try {
    const { encoderAt } = await import('./search-model.ts')
    return await encoderAt(address)
  } catch {
    stop.throwIfAborted()
    return undefined
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

const earlierText = (messages: readonly StoredMessage[]): string =>
  splitQuotes(messages.slice(0, -1).findLast(({ role }) => role === 'user')?.content ?? '').text

/** A passage under the name of its file and its place. */
function sourceOf({ text, document, place }: FoundPassage, files: readonly TextFile[]): TextFile {
  const name = files[document]?.name ?? ''
  const where = placeText(place, laterWords(), language())
  return { name: where === '' ? name : `${name}, ${where}`, text }
}
