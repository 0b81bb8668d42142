// Settings of the widget. In: its properties, and errors. Out: what to load, how to answer, what to report.
import { HalfbyteError, isHalfbyteError, reasonOf } from '../base/errors.ts'
import type { Settings } from './conversation/entries.ts'
import type { HalfbyteChatProps } from './element.ts'
import type { ModelPlan } from './loading/loader.ts'
import type { Words } from './words.ts'

/** Throws `unsupported` without a model. */
export function planOf({
  model,
  loadOptions,
  downloadBytes,
}: Pick<HalfbyteChatProps, 'model' | 'loadOptions' | 'downloadBytes'>): ModelPlan {
  if (model === undefined || model === null || model === '')
    throw new HalfbyteError(
      'unsupported',
      'no model is given; set the attribute model or the property engine',
    )
  return { source: model, options: loadOptions, bytes: downloadBytes }
}

export const settingsOf = (
  { system, tools, documents, generateOptions }: Omit<HalfbyteChatProps, 'engine'>,
  { passages }: Words,
): Settings => ({
  system: system === '' ? undefined : system,
  tools,
  documents,
  generateOptions,
  passagesPrompt: passages,
})

/** The error of the event `halfbyte-error`, which always has a type. */
export const reported = (error: unknown): HalfbyteError =>
  isHalfbyteError(error)
    ? error
    : new HalfbyteError('internal', `the chat failed: ${reasonOf(error)}`, {}, { cause: error })

/** The language of the page at this place, for numbers. */
export function languageOf(element: Element): string | undefined {
  const lang = element.closest<HTMLElement>('[lang]')?.lang ?? ''
  return Intl.NumberFormat.supportedLocalesOf(lang === '' || !/^[\w-]+$/.test(lang) ? [] : [lang])[0]
}
