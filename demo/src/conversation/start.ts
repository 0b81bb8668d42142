// The start. In: data from earlier visits. Out: the page's chat, whose model starts loading.
import { languageToSpeak, speak } from '../words/words.ts'
import { Chat } from './chat.ts'

export const chat = new Chat()

/** Resolves when the page's texts are loaded. */
export const spoken = speak(languageToSpeak(chat.settings.language))

/** Resolves when the stored conversations are loaded. */
export const started = spoken.then(() => chat.start())
