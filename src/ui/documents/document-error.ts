// The errors of documents. Each has a sentence for users with the file's name and the next step, which the
// page and the widget can show in another language.
import { type ErrorCode, HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import { DOCUMENT_WORDS, type DocumentWords } from '../words/documents.ts'
import { fill, say } from '../words/message.ts'

/** `scanned`: a PDF of pictures. `part`: the code for this kind of file did not load. */
type DocumentFault = 'kind' | 'large' | 'long' | 'locked' | 'scanned' | 'empty' | 'damaged' | 'part'

const CODES: Readonly<Record<DocumentFault, ErrorCode>> = {
  kind: 'unsupported',
  large: 'unsupported',
  long: 'unsupported',
  locked: 'unsupported',
  scanned: 'unsupported',
  empty: 'format',
  damaged: 'format',
  part: 'worker',
}

/** Values for the sentence besides `name`, and `why` for developers. */
type Values = Readonly<Record<string, string | number>>

/** An error about the file `name`. Its message is the English sentence. */
export function documentError(fault: DocumentFault, name: string, values: Values = {}, cause?: unknown) {
  const detail = { ...values, name, document: fault }
  const message = fill(DOCUMENT_WORDS[`document-${fault}`], detail)
  return new HalfbyteError(CODES[fault], message, detail, cause === undefined ? undefined : { cause })
}

/** The sentence of a document's error in the words of a `language`; undefined for any other error. */
export function documentSentence(error: unknown, words: DocumentWords, language: string): string | undefined {
  if (!isHalfbyteError(error) || typeof error.detail['document'] !== 'string') return undefined
  const text = words[`document-${error.detail['document']}` as keyof DocumentWords]
  return text === undefined ? undefined : say(text, error.detail as Values, language)
}
