// Reading aloud. In: a rendered answer. Out: its sentences, spoken by the device's own voices.

import { sleep } from '../../shell/tasks.ts'

/** How long, in milliseconds, a browser may take to list its voices. */
const MAX_WAIT = 1000
/** Skipped content: code, formulas as markup, thoughts, and button labels. */
const SILENT = '.code, .formula, .thoughts, button'

/**
 * Reads the text of `body`. Resolves when done, when `signal` aborts, or when a voice fails; to false if this
 * device has no local voice.
 */
export async function readAloud(body: Element, signal: AbortSignal): Promise<boolean> {
  const voices = await ownVoices()
  if (voices.length === 0) return false
  // Another message may be playing.
  window.speechSynthesis.cancel()
  signal.addEventListener('abort', () => window.speechSynthesis.cancel())
  // Chromium stops speaking long texts after some seconds, so each sentence is an utterance.
  for (const sentence of sentencesOf(spokenText(body))) {
    if (signal.aborted) break
    const utterance = new SpeechSynthesisUtterance(sentence)
    utterance.lang = languageOf(sentence)
    utterance.voice = voices.find(({ lang }) => isSame(lang, utterance.lang)) ?? voices[0] ?? null
    const ended = Promise.withResolvers<boolean>()
    utterance.onend = () => ended.resolve(true)
    utterance.onerror = () => ended.resolve(false)
    window.speechSynthesis.speak(utterance)
    if (!(await ended.promise)) break
  }
  return true
}

/** The local voices. Other voices send text to a server, but chats stay on this device. */
async function ownVoices(): Promise<SpeechSynthesisVoice[]> {
  const { speechSynthesis } = window
  if (speechSynthesis.getVoices().length === 0) {
    // Browsers that list voices late fire an event; those without voices do not.
    const listed = new Promise((resolve) =>
      speechSynthesis.addEventListener('voiceschanged', resolve, { once: true }),
    )
    await Promise.race([listed, sleep(MAX_WAIT)])
  }
  return speechSynthesis.getVoices().filter(({ localService }) => localService)
}

const isSame = (one: string, other: string) => one.slice(0, 2) === other.slice(0, 2)

function spokenText(body: Element): string {
  const copy = body.cloneNode(true) as Element
  for (const silent of copy.querySelectorAll(SILENT)) silent.remove()
  // A heading or list item has no full stop, but is followed by a pause.
  for (const block of copy.querySelectorAll('p, li, h1, h2, h3, h4, h5, h6, td, th')) block.append('\n')
  return copy.textContent ?? ''
}

/** Sentences and lines with content. */
export function sentencesOf(text: string): string[] {
  const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' })
  return text
    .split(/\n+/)
    .flatMap((line) => Array.from(segmenter.segment(line), ({ segment }) => segment.trim()))
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
}

/** The language of the letters, which may differ from the page's. */
export function languageOf(sentence: string): string {
  if (/\p{Script=Hebrew}/u.test(sentence)) return 'he'
  return navigator.languages.find((language) => !/^(?:he|iw)\b/.test(language)) ?? 'en'
}
