// Care. In: a user's message. Out: an answer if the user is in need, otherwise none.
import { answerTo } from './answers.ts'
import { numbersOf, regionOf } from './numbers.ts'
import { type Need, recognizeNeed } from './recognize.ts'

export interface CareAnswer {
  readonly need: Need
  /** The language of the message and the answer. */
  readonly language: string
  /** Markdown. */
  readonly text: string
}

/**
 * The answer to give, instead of the model's, to someone who may be in danger; undefined for other messages.
 * It is in the message's language. `region`: the user's location as an ISO 3166 code, for the emergency
 * numbers. Default: the region of the browser's language and time zone, if they agree.
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
