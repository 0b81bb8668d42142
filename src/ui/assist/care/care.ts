// Care. In: a user's message. Out: an answer if the user is in need, otherwise none.
import { answerTo } from './answers.ts'
import { numbersOf, regionOf } from './numbers.ts'
import { type Need, recognizeNeed } from './recognize.ts'

/** An answer for someone in need. */
export interface CareAnswer {
  /** What the writer may need help with. */
  readonly need: Need
  /** The language of the message and the answer, as a language code such as `en`. */
  readonly language: string
  /** The answer to show, in Markdown. */
  readonly text: string
}

/**
 * The answer to give, instead of the model's, to someone who may be in danger, in the message's language;
 * undefined for other messages. `region`: the user's location as an ISO 3166 code, for the emergency numbers.
 * Default: the region of the browser's language and time zone, if they agree.
 */
export function careAnswer(
  message: string,
  region: string | undefined = regionOf(
    globalThis.navigator?.language,
    Intl.DateTimeFormat().resolvedOptions().timeZone,
  ),
): CareAnswer | undefined {
  const found = recognizeNeed(message)
  if (found === undefined) return undefined
  const { need, language } = found
  return { need, language, text: answerTo(need, language, numbersOf(region, need === 'medical')) }
}
