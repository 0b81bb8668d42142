// Passages. In: a question, the page's documents and those that the user attached. Out: the whole attached
// documents if they fit, otherwise the passages of all documents nearest to the question.
import type { TextDocument } from '../../documents/read-file.ts'
import type { FoundPassage } from '../../documents/search.ts'
import type { Entry, Passage, Settings, WidgetDocument } from './entries.ts'

interface PassageOptions {
  readonly signal: AbortSignal
  /** Whether the question with these passages takes at most `share` of the context. */
  readonly fits: (passages: readonly Passage[], share: number) => Promise<boolean>
  /** Called while an encoder reads passages, with their numbers. */
  readonly onProgress: (done: number, total: number) => void
}

/** A document, and the address of the page's own. */
interface Source extends TextDocument {
  readonly url?: string | undefined
}

/** `asked`: the conversation up to its open question. Rejects with the signal's reason once it is aborted. */
export async function passagesFor(
  asked: readonly Entry[],
  { documents: own, encoder: load }: Settings,
  { signal, fits, onProgress }: PassageOptions,
): Promise<readonly Passage[]> {
  const attached = newest(asked.flatMap(({ documents = [] }) => documents))
  if (own.length + attached.length === 0) return []
  const { chosenPassages, PASSAGES_SHARE, searchIn } = await import('../../documents/index.ts')
  const whole = attached.map(({ name, text }): Passage => ({ title: name, text }))
  if (own.length === 0 && (await fits(whole, PASSAGES_SHARE))) return whole
  const encoder = await load?.()
  signal.throwIfAborted()
  const sources: readonly Source[] = [...own.map(sourceOf), ...attached]
  const passageOf = ({ text, document, place }: FoundPassage): Passage => {
    const { name = '', url } = sources[document] ?? {}
    const isPart = Object.keys(place).length > 0
    return { text, title: name === '' ? undefined : name, url, ...(isPart && { place }) }
  }
  const questions = asked.filter(({ role }) => role === 'user').map(({ content }) => content)
  const question = { text: questions.at(-1) ?? '', earlier: questions.at(-2) }
  const found = await chosenPassages(
    searchIn(sources),
    question,
    (passages) => fits(passages.map(passageOf), PASSAGES_SHARE),
    { encoder, signal, onProgress },
  )
  return found.map(passageOf)
}

const sourceOf = (document: string | WidgetDocument): Source =>
  typeof document === 'string'
    ? { name: '', text: document }
    : { name: document.title ?? '', text: document.text, url: document.url }

/** The newest document of each name. */
const newest = (documents: readonly TextDocument[]): readonly TextDocument[] => [
  ...new Map(documents.map((document) => [document.name, document])).values(),
]
