// Scope. In: a conversation. Out: what the embedded models read of its last message, if they can answer it;
// otherwise why not. The page lists what they were trained for (lab/train/worlds): stories and small talk.
import type { StoredMessage } from '../store/conversations.ts'
import { clausesOf, isUnclear, plainText } from './plain.ts'
import { isDelicate, type Refusal, refusal } from './refusals.ts'
import { smallTalk, toldFeeling } from './small-talk.ts'
import { aboutStory, storyWish } from './stories.ts'

/**
 * How a message is handled: `heard` in the model's words, or the `name` that the user has told before, or
 * the reason why it is declined. `beyond`: a larger model may answer it.
 */
export type Verdict =
  | { readonly heard: string }
  | { readonly named: string | undefined }
  | { readonly declined: Refusal | 'beyond' | 'unclear' }

/** The shortest answer that counts as a story, in characters. */
const LEAST_STORY = 120
/** A request about a story may come at most this many messages after it. */
const STORY_AGO = 6
/** Longer messages are tasks for another model. */
const MAX_LETTERS = 2000
/** Longer messages are not small talk. */
const MAX_TALK = 300

const NOT_NAMES =
  /^(?:a|an|the|so|very|not|sad|happy|fine|good|ok|well|bored|tired|sick|ill|lonely|alone|back|here|home|sure|sorry|hungry|thirsty|busy|new|ready|done|lost|late|old|young|just|really|still|feeling|looking|trying|going|from|in|at|on|your|my|scared|afraid|angry|mad|confused|worried|great|cold|hot|drunk|high|gay|trans|pregnant|only|also|too|single|married|curious|glad|excited|stuck|nervous|depressed|human|male|female|german|french|english|american|jewish|muslim|christian)$/i

/** The name in "My name is Dana", or in "hi, I'm Leo". */
function toldName(text: string): string | undefined {
  const [, given] =
    /\bmy name(?:['’]?s| is)\s+(\p{L}[\p{L}'’-]{1,20})(?![\p{L}])/iu.exec(text) ??
    /\b[Cc]all me\s+(\p{Lu}[\p{L}'’-]{1,20})/u.exec(text) ??
    /^\W*(?:hi|hello|hey|good \w+)\W+(?:there\W+)?i(?:['’]?m| am)\s+(\p{L}[\p{L}'’-]{1,20})\W*$/iu.exec(
      text,
    ) ??
    /^\W*I(?:['’]m| am)\s+(\p{Lu}\p{Ll}[\p{L}'’-]{1,20})\W*$/u.exec(text) ??
    []
  return given === undefined || NOT_NAMES.test(given)
    ? undefined
    : `${given.charAt(0).toUpperCase()}${given.slice(1)}`
}

const ASKS_NAME =
  /^(?:(?:hey|hi|so|and|ok|please|halfbyte) )*(?:what is my name|(?:do|did) you (?:still )?(?:know|remember|forget) (?:my name|who i am|what i am called|what my name is)|who am i|what am i called|(?:can you )?say my name|tell me my name)(?: again| please)?$/
const TELLS_NAME =
  /^(?:hi |hello |hey )?(?:there )?(?:my name is|you can call me|call me|i am|i am called) \S+$/

/** False for the page's own answers, such as those for people in need. */
const isModels = ({ role, model, declined }: StoredMessage): boolean =>
  role === 'assistant' && model !== undefined && !declined

const isStoryLike = (message: StoredMessage): boolean =>
  isModels(message) && message.content.length >= LEAST_STORY

const WAVES = /\u{1f44b}|\u{1f64b}/u
const JOKE = 'Tell me a joke.'
const LANGUAGES = 'Which languages do you speak?'
const AGAIN =
  /^(?:(?:please|now|can you|could you|ok|yes|tell me|tell|give me|i want|how about|and) )*(?:another|another one|one more|a new one|a different one|a better one|something else|again|do it again|try again|once more|a longer one|the next one|more)(?: (?:please|story|one))*[.!?]*$/

/** Decides how the last of `messages` is handled. `text`: what the user wrote in it. */
export function scopeOf(messages: readonly StoredMessage[], text: string): Verdict {
  if (text.length > MAX_LETTERS) return { declined: 'beyond' }
  const plain = plainText(text)
  if (plain === '' && WAVES.test(text)) return { heard: 'Hello!' }
  if (isUnclear(text)) return { declined: 'unclear' }
  const clauses = clausesOf(plain)
  if (clauses.some((clause) => ASKS_NAME.test(clause))) {
    const names = messages.map(({ role, content }) => (role === 'user' ? toldName(content) : undefined))
    return { named: names.findLast(Boolean) }
  }
  const heard = heardTalk(plain, text, clauses) ?? heardWish(messages, plain, text)
  return heard === undefined ? { declined: refusal(plain) ?? 'beyond' } : { heard }
}

function heardWish(messages: readonly StoredMessage[], plain: string, text: string): string | undefined {
  const asked = withoutTalk(text)
  const wish = storyWish(plainText(asked), asked)
  if (wish !== undefined) return wish
  const answered = messages.findLastIndex(isModels)
  if (answered < 1) return undefined
  const isStory = messages.slice(Math.max(0, answered - STORY_AGO), answered + 1).some(isStoryLike)
  if (!AGAIN.test(plain)) return isStory ? aboutStory(plain) : undefined
  const before = scopeOf(messages.slice(0, answered), messages[answered - 1]?.content ?? '')
  if ('heard' in before && before.heard === JOKE) return JOKE
  return isStory ? 'Tell me a story.' : undefined
}

/** The text from its first sentence that is not small talk: "Hi! How are you? Tell me a story." */
function withoutTalk(text: string): string {
  const sentences = text.split(/(?<=[.!?])\s+/)
  const first = sentences.findIndex((each) =>
    clausesOf(plainText(each)).some((clause) => smallTalk(clause) === undefined),
  )
  return sentences.slice(Math.max(0, first)).join(' ')
}

function heardTalk(plain: string, text: string, clauses: readonly string[]): string | undefined {
  if (plain.length > MAX_TALK) return undefined
  const name = toldName(text)
  const parts = clauses.flatMap((clause) =>
    smallTalk(clause) === undefined ? clause.split(/ (?:and|but) /) : [clause],
  )
  const isFelt = !isDelicate(plain)
  const heard = parts.map((part) =>
    name !== undefined && TELLS_NAME.test(part)
      ? `My name is ${name}.`
      : (smallTalk(part) ?? (isFelt ? toldFeeling(part) : undefined)),
  )
  // A greeting before a question needs no answer of its own.
  return heard.every((part) => part !== undefined) ? heard.at(-1) : undefined
}

/** What an embedded model reads of a conversation. */
export interface Heard {
  readonly messages: readonly StoredMessage[]
  /** The index of each message in the conversation. */
  readonly places: readonly number[]
}

/**
 * What a model reads of a conversation. Embedded models read it in words that they were trained on, without
 * what was declined, which would only confuse them.
 */
export function heardBy(messages: readonly StoredMessage[], isStoryteller: boolean): Heard {
  if (!isStoryteller) return { messages, places: [...messages.keys()] }
  const places = [...messages.keys()].filter(
    (place) =>
      !messages[place]?.declined && (messages[place]?.role !== 'user' || !messages[place + 1]?.declined),
  )
  const reworded = places.map((place): StoredMessage => {
    const message = messages[place]!
    if (message.role === 'assistant' || message.pictures !== undefined) return message
    const verdict = scopeOf(messages.slice(0, place + 1), message.content)
    return 'heard' in verdict ? { ...message, content: verdict.heard } : message
  })
  return { messages: reworded, places }
}

/** Answers with which the embedded models decline. */
const DECLINES =
  /^(?:That (?:is a good question|I do not know|is too hard)|I am (?:sorry|not sure)[^.]*(?:only (?:speak|know)|do not know|cannot|will not guess)|I do not know\b|I only (?:speak|know)|(?:Mails|Lists|Rhymes) are|I cannot (?:write|do)|Please look)/

/** True if a model declined, although the page expected it to answer what it `heard`. */
export const declinesItself = (answer: string, heard: string | undefined): boolean =>
  heard !== LANGUAGES && answer.length < LEAST_STORY && DECLINES.test(answer.trim())
