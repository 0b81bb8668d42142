// Status. In: the chat's state. Out: the notice above the composer, the figures below it, and screen reader
// messages.
import { html, nothing, type TemplateResult } from 'lit'
import type { LoadProgress, Smaller } from '../../../src/index.ts'
import { detailsView } from '../../../src/ui/chat/explained.ts'
import type { Chat } from '../conversation/chat.ts'
import { partsOf } from '../conversation/render/thoughts.ts'
import { bytes, duration, bytesPerSecond as rateText, speed } from '../shell/units.ts'
import { allWords, language, t } from '../words/words.ts'
import { DEFAULT } from './embedded.ts'
import type { Explained } from './explain.ts'
import type { Phase, Verdict } from './model-slot.ts'
import { choiceName } from './models.ts'

type Loading = Extract<Phase, { readonly name: 'loading' }>

/** What needs the user's attention, with possible actions. */
export function renderNotice(chat: Chat, larger: () => void): TemplateResult | typeof nothing {
  const { phase, choice } = chat.model
  switch (phase.name) {
    case 'loading':
      if (phase.after !== undefined) return html`<div class="notice error">${reason(phase.after)}</div>`
      if (phase.verdict === undefined || chat.problem !== undefined) return about(chat, larger)
      return html`<div class="notice">
        <p role="status">${verdictText(choiceName(chat.model.choice), phase.verdict)}</p>
      </div>`
    case 'failed':
      return html`<div class="notice error">
        ${reason(phase.why)}
        <div class="row">
          ${phase.lacks === undefined ? nothing : roomButtons(chat, phase.lacks)}${phase.isHopeless ? nothing : loadButton(chat, t('tryAgain'))}${otherButton(chat)}
        </div>
      </div>`
    case 'empty':
      return html`<div class="notice">
        <p role="status">${phase.why}</p>
        <div class="row">
          ${smallerButton(chat, phase.smaller)}${loadButton(chat, t('loadName', { name: choiceName(choice) }))}${otherButton(chat)}
        </div>
      </div>`
    case 'ready':
      return about(chat, larger)
    default:
      throw new TypeError(`unknown phase ${JSON.stringify(phase satisfies never)}`)
  }
}

/** Sentences, with optional collapsed details. */
function reason(explained: Explained): TemplateResult {
  return html`<p role="alert">${explained.text}</p>
    ${detailsView(explained, allWords())}`
}

/** Notices about the conversation; they do not come from loading the model. */
function about(chat: Chat, larger: () => void): TemplateResult | typeof nothing {
  if (chat.problem !== undefined) {
    return html`<div class="notice error">
      ${reason(chat.problem)}
      <div class="row">
        ${chat.problem.wantsLarger ? html`<button class="outline" @click=${larger}>${t('larger')}</button>` : nothing}
        <button class="outline" @click=${() => chat.understand()}>${t('ok')}</button>
      </div>
    </div>`
  }
  if (chat.parts.isMissing) {
    return html`<div class="notice">
      <p role="alert">${t('partMissing')}</p>
      <div class="row"><button class="outline" @click=${() => location.reload()}>${t('reloadPage')}</button></div>
    </div>`
  }
  if (chat.lost !== undefined) {
    return html`<div class="notice">
      <p role="status">
        ${t(chat.openLost === undefined ? 'lost' : 'asksFile', { file: chat.lost, name: choiceName(chat.model.shown) })}
      </p>
      <div class="row">
        ${chat.openLost === undefined ? nothing : html`<button class="primary" @click=${chat.openLost}>${t('openFile')}</button>`}<button class="outline" @click=${() => chat.understand()}>${t('ok')}</button></div>
    </div>`
  }
  const hasPictures = chat.conversation.messages.some(({ pictures }) => pictures !== undefined)
  if (hasPictures && chat.model.engine?.model.seesImages === false) {
    return html`<div class="notice slim"><p role="status">${t('blindChat')}</p></div>`
  }
  return chat.needsReload && !chat.isAnswering && chat.model.phase.name === 'ready'
    ? html`<div class="notice slim">
        <p>${t('stale')}</p>
        <button class="outline" @click=${() => void chat.reload()}>${t('reload')}</button>
      </div>`
    : nothing
}

function loadButton(chat: Chat, label: string): TemplateResult {
  return html`<button class="outline" @click=${() => void chat.reload()}>${label}</button>`
}

function roomButtons(chat: Chat, lacks: number): TemplateResult {
  return html`<button class="outline" @click=${() => void chat.makeRoom(lacks)}>
      ${t('makeRoom')}
    </button>
    <button class="outline" @click=${() => void chat.loadUnkept()}>${t('loadUnkept')}</button>`
}

function smallerButton(chat: Chat, smaller: Smaller | undefined): TemplateResult | typeof nothing {
  if (smaller === undefined) return nothing
  return html`<button class="primary" @click=${() => void chat.loadSmaller(smaller)}>${t('loadWith', { ways: waysOf(smaller) })}</button>`
}

/** e.g. `a context of 1024 tokens and 4-bit weights` */
function waysOf({ contextLength, kvCache, weights }: Smaller): string {
  const ways = [
    ...(contextLength === undefined ? [] : [t('wayContext', { count: contextLength })]),
    ...(kvCache === undefined ? [] : [t('wayMemory')]),
    ...(weights === undefined ? [] : [t('wayWeights')]),
  ]
  return new Intl.ListFormat(language(), { type: 'conjunction' }).format(ways)
}

/** Continues with the current model, or with the embedded one. */
function otherButton(chat: Chat): TemplateResult | typeof nothing {
  const { used, choice } = chat.model
  if (used !== undefined) {
    return html`<button class="outline" @click=${() => chat.model.goOn()}>${t('goOn', { name: choiceName(used.choice) })}</button>`
  }
  if (choice === DEFAULT) return nothing
  return html`<button class="outline" @click=${() => void chat.load(DEFAULT)}>${t('useEmbedded')}</button>`
}

/**
 * Progress on the line of figures, which is always present, so that nothing moves when it appears or
 * disappears.
 */
function loading(chat: Chat, phase: Loading): TemplateResult {
  const { label, more, value, max } = phase.checking === true ? checking() : describe(phase.progress)
  const { used, choice } = chat.model
  // On a phone there is no room for the name next to a retry.
  const isNamed = used !== undefined && used.choice !== choice && retryOf(phase) === undefined
  return html`<div class="stats loading">
    ${isNamed ? html`<span class="name" dir="auto">${choiceName(choice)}</span>` : nothing}
    <span><b>${label}</b> <span class="figures">${more}</span></span>
    <button class="inline" @click=${() => chat.model.cancel()}>${t('cancel')}</button>
    ${
      max > 0
        ? html`<progress aria-label=${label} max=${max} value=${value}></progress>`
        : html`<progress aria-label=${label}></progress>`
    }
  </div>`
}

function verdictText(name: string, { neededBytes, decodeTokensPerSecond }: Verdict): string {
  return t('verdict', { name, size: bytes(neededBytes), speed: Number(decodeTokensPerSecond.toPrecision(2)) })
}

interface Bar {
  readonly label: string
  /** Figures next to the label. */
  readonly more: string
  readonly value: number
  /** 0 if the duration is unknown. */
  readonly max: number
}

const checking = (): Bar => ({ label: t('checking'), more: '', value: 0, max: 0 })

function describe(progress: LoadProgress | undefined): Bar {
  switch (progress?.phase) {
    case undefined:
      return { label: t('loading'), more: '', value: 0, max: 0 }
    case 'download': {
      const { loaded, total, cached, bytesPerSecond, secondsLeft, retry } = progress
      if (cached) return { label: t('reading'), more: bytes(loaded), value: loaded, max: total }
      if (retry !== undefined) {
        const { attempt, attempts, waitMs } = retry
        const more = t('retrying', { time: duration(waitMs), attempt, attempts })
        return { label: t('brokeOff'), more, value: loaded, max: total }
      }
      const size = total > 0 ? t('sizeOf', { loaded: bytes(loaded), total: bytes(total) }) : bytes(loaded)
      const rate = bytesPerSecond === undefined ? '' : `, ${rateText(bytesPerSecond)}`
      const left = secondsLeft === undefined ? '' : `, ${t('left', { time: duration(secondsLeft * 1000) })}`
      return { label: t('downloading'), more: size + rate + left, value: loaded, max: total }
    }
    case 'convert':
      return { label: t('converting'), more: '', value: progress.done, max: progress.total }
    case 'compile':
      return { label: t('starting'), more: '', value: 0, max: 0 }
    case 'warmup':
      return { label: t('warming'), more: '', value: 0, max: 0 }
    default:
      throw new TypeError(`unknown progress ${JSON.stringify(progress satisfies never)}`)
  }
}

/**
 * The progress of a load; otherwise the speed of the last answer, context, memory and threads, as a button
 * that calls `more`.
 */
export function renderFigures(chat: Chat, more: () => void): TemplateResult {
  const { model, figures, memoryBytes } = chat
  if (model.phase.name === 'loading') return loading(chat, model.phase)
  const { engine } = model
  if (engine === undefined) return html`<div class="stats"></div>`
  const { threads, build } = engine
  return html`<button class="stats" aria-haspopup="dialog" title=${t('howItRuns')} @click=${more}>
    <span class="visually-hidden">${t('howItRuns')}: </span>
    ${
      figures === undefined
        ? nothing
        : html`<span data-stat="speed" title=${t('firstToken', { ms: Math.round(figures.firstTokenMs), read: figures.readTokens, all: figures.promptTokens })}>${t('speed', { speed: speed(figures.tokensPerSecond) })}</span>
          <span data-stat="context" title=${t('contextMore')}>${t('context', { used: figures.contextUsed, all: engine.model.contextLength })}</span>`
    }
    ${memoryBytes === undefined ? nothing : html`<span data-stat="memory" title=${t('memoryMore')}>${bytes(memoryBytes)}</span>`}
    <span>${t('threads', { count: threads, build })}</span>
  </button>`
}

/** Figures are not announced, because they change all the time. */
function loadingSaid(phase: Loading): string {
  if (retryOf(phase) === undefined) return t('loading')
  const { label, more } = describe(phase.progress)
  return `${label}: ${more}`
}

const retryOf = ({ progress }: Loading) => (progress?.phase === 'download' ? progress.retry : undefined)

/** The screen reader message: the state, and each answer once it is complete, not token by token. */
export function announcement({ model, conversation, hasSpoken, isAnswering }: Chat): string {
  if (isAnswering && model.engine !== undefined) return t('answering')
  if (model.engine === undefined) return model.phase.name === 'loading' ? loadingSaid(model.phase) : ''
  // A notice is read aloud by itself.
  if (model.phase.name === 'failed' || model.phase.name === 'empty') return ''
  const last = conversation.messages.at(-1)
  return last?.role === 'assistant' && hasSpoken ? t('says', { text: partsOf(last).answer }) : t('ready')
}
