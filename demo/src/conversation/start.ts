// The start. In: what earlier visits left. Out: the page's chat, whose model begins to load.
import { languageFor, speak } from '../words/words.ts'
import { Chat } from './chat.ts'

export const chat = new Chat()

/** Resolves when the page's texts are there. */
export const spoken = speak(languageFor(chat.settings.language))

/** Resolves when the earlier conversations are there. */
export const started = spoken.then(() => chat.start())
