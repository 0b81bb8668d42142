// Voice input. In: the platform's on-device speech recognition. Out: the recognised text.

/** The parts of the Web Speech API that the page uses. */
interface Recognition extends EventTarget {
  lang: string
  interimResults: boolean
  continuous: boolean
  processLocally: boolean
  start(): void
  stop(): void
}

interface RecognitionClass {
  new (): Recognition
  available?(options: { langs: string[]; processLocally: boolean }): Promise<string>
}

interface SpeechResult extends Event {
  readonly results: ArrayLike<ArrayLike<{ readonly transcript: string }>>
}

export interface Listening {
  /** Stops listening; the text so far is kept. */
  stop(): void
  /** Resolves when listening has ended: by `stop`, by silence, or because the microphone was denied. */
  readonly ended: Promise<void>
}

const recognition = (): RecognitionClass | undefined =>
  (globalThis as { readonly SpeechRecognition?: RecognitionClass }).SpeechRecognition

/**
 * True if speech is recognised on this device. If it would be sent to a server, the page does not offer it.
 */
export async function canListen(lang: string): Promise<boolean> {
  const state = await recognition()
    ?.available?.({ langs: [lang], processLocally: true })
    .catch(() => undefined)
  return state === 'available'
}

/** Calls `hear` repeatedly with the whole text so far while the user speaks. */
export function listenTo(lang: string, hear: (text: string) => void): Listening {
  const Class = recognition()
  if (Class === undefined) return { stop: () => undefined, ended: Promise.resolve() }
  const heard = new Class()
  Object.assign(heard, { lang, interimResults: true, continuous: true, processLocally: true })
  heard.addEventListener('result', (event) => {
    const { results } = event as SpeechResult
    hear(Array.from(results, (result) => result[0]?.transcript ?? '').join(''))
  })
  const ended = new Promise<void>((resolve) => {
    heard.addEventListener('end', () => resolve())
    heard.addEventListener('error', () => resolve())
  })
  heard.start()
  return { stop: () => heard.stop(), ended }
}
