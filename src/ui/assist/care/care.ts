// Care. In: a user's message. Out: the answer to someone in need, or none.
import { answerTo } from './answers.ts'
import { numbersOf, regionOf } from './numbers.ts'
import { type Need, recognizeNeed } from './recognize.ts'

export interface CareAnswer {
  readonly need: Need
  /** The answer's language, which is the message's. */
  readonly language: string
  /** Markdown. */
  readonly text: string
}

/**
 * The answer to a message of someone who may be in danger, instead of the model's; undefined for other messages.
 * It is in the message's language. `region`: where the user is, as a code of ISO 3166, for the emergency numbers;
 * by default the one of the browser's language and time zone, if they agree.
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
