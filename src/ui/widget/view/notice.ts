// The notice below the messages: a question, progress or an error, depending on the model's phase and on
// failures.

import { html, nothing, type TemplateResult } from 'lit'
import { isHalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import type { LoadProgress } from '../../../engine/api/types.ts'
import { detailsView, type Explained } from '../../chat/explained.ts'
import { bytesText, codeOf, durationText, isOffline } from '../../chat/texts.ts'
import type { Words } from '../../words/english.ts'
import { say } from '../../words/message.ts'
import type { Phase } from '../loading/loader.ts'
import { icon } from './frame.ts'

export const explain = (error: unknown, words: Words): Explained => ({
  text: words[isOffline(error) ? 'offline' : (specialWord(error) ?? `error-${codeOf(error)}`)],
  details: reasonOf(error),
})

/** Error causes with their own sentence. */
function specialWord(error: unknown): 'oldBrowser' | 'noModel' | 'notFound' | 'pictureBlind' | undefined {
  const { status, safari, model, pictures } = isHalfbyteError(error) ? error.detail : {}
  if (safari !== undefined) return 'oldBrowser'
  if (model === 'none') return 'noModel'
  if (pictures === 'blind') return 'pictureBlind'
  return status === 404 || status === 410 ? 'notFound' : undefined
}

/** Errors after which an engine cannot answer and must be loaded again. */
export const isFatal = (error: unknown): boolean =>
  ['disposed', 'internal', 'worker', 'integrity'].includes(codeOf(error))

interface NoticeView {
  readonly phase: Phase
  /** Why the last answer failed. */
  readonly error: unknown
  readonly words: Words
  /** For numbers. */
  readonly language: string
  readonly onAccept: () => void
  readonly onCancel: () => void
  readonly onRetry: () => void
}

export function noticeView(view: NoticeView): TemplateResult | typeof nothing {
  const { phase, error, words } = view
  switch (phase.name) {
    case 'checking':
      return progressView(view, words.checking, undefined)
    case 'consent':
      return consentView(view, phase)
    case 'loading':
      return progressView(view, loadingText(phase.progress, view), shareOf(phase.progress))
    case 'failed':
      return errorView(view, phase.error)
    case 'idle':
    case 'ready':
      return error === undefined ? nothing : errorView(view, error)
    default:
      throw new TypeError(`unknown phase ${JSON.stringify(phase satisfies never)}`)
  }
}

function consentView(
  { words, language, onAccept, onCancel }: NoticeView,
  { bytes, fits }: Extract<Phase, { name: 'consent' }>,
): TemplateResult {
  const text =
    bytes === undefined
      ? words.consentUnknown
      : say(words.consentSize, { size: bytesText(bytes, language) }, language)
  return html`<div class="notice consent" part="notice consent" role="group" aria-labelledby="consent-title" aria-describedby="consent-text">
    <p class="title" id="consent-title">${words.consentTitle}</p>
    <p id="consent-text">${text}${fits ? nothing : html` ${words.consentTight}`}</p>
    <div class="row">
      <button type="button" class="primary accept" part="button-primary" @click=${onAccept}>${icon('download')}<span>${words.accept}</span></button>
      <button type="button" class="outline" part="button" @click=${onCancel}>${words.decline}</button>
    </div>
  </div>`
}

/** `share`: between 0 and 1; undefined: unknown. */
function progressView(
  { words, onCancel }: NoticeView,
  text: string,
  share: number | undefined,
): TemplateResult {
  return html`<div class="notice loading" part="notice progress">
    <div class="row spread"><span>${text}</span>
      <button type="button" class="small" part="button" @click=${onCancel}>${words.cancel}</button></div>
    ${
      share === undefined
        ? html`<progress aria-label=${text}></progress>`
        : html`<progress max="1" .value=${share} aria-label=${words.preparing}></progress>`
    }
  </div>`
}

function errorView({ words, onRetry }: NoticeView, error: unknown): TemplateResult {
  const explained = explain(error, words)
  return html`<div class="notice error" part="notice error" role="alert">
    <p class="row start">${icon('alert')}<span>${explained.text}</span></p>
    ${detailsView(explained, words)}
    <div class="row"><button type="button" class="outline retry" part="button" @click=${onRetry}>${icon('again')}<span>${words.retry}</span></button></div>
  </div>`
}

export function loadingText(
  progress: LoadProgress | undefined,
  { words, language }: Pick<NoticeView, 'words' | 'language'>,
): string {
  if (progress === undefined) return words.waiting
  if (progress.phase !== 'download') return words.preparing
  const { loaded, total, cached, secondsLeft, retry } = progress
  if (cached) return words.reading
  if (retry !== undefined) {
    const { attempt, attempts, waitMs } = retry
    return say(words.retrying, { time: durationText(waitMs, language), attempt, attempts }, language)
  }
  const sizes = { loaded: bytesText(loaded, language), total: bytesText(total, language) }
  const text = say(total > 0 ? words.downloading : words.downloadingUnknown, sizes, language)
  return secondsLeft === undefined
    ? text
    : `${text}, ${say(words.left, { time: durationText(1000 * secondsLeft, language) }, language)}`
}

function shareOf(progress: LoadProgress | undefined): number | undefined {
  if (progress?.phase === 'download' && progress.total > 0) return progress.loaded / progress.total
  if (progress?.phase === 'convert' && progress.total > 0) return progress.done / progress.total
  return undefined
}
