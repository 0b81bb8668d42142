// A logit processor for small story models, which forget half of the requested content: it makes the words of
// the request likelier until the story contains them. The engine's worker imports it by address.
//
// The method of steering towards keywords by shifting logits is from Pascual and others, A Plug-and-Play
// Method for Controlled Text Generation, 2021. Their version also shifts words of similar meaning, found by
// their embeddings; this one shifts only the word itself.
import type { LogitProcessorFactory } from '../../../../src/index.ts'
import { askedWords, formsOf, stemOf } from './asked-words.ts'

/** Added to the first token of a missing word at the story's start, and after RISE tokens. */
const FIRST_SHIFT = 2
const LAST_SHIFT = 5
const RISE = 80
/** If the word's logit is this far below the best, nothing is added: the word would break the sentence. */
const DISTANCE = 8
/** After an article any noun may follow, even one the model hardly knows. */
const ARTICLES = ['a', 'an', 'the']
const DISTANCE_AFTER_ARTICLE = 16
const TIMES_AFTER_ARTICLE = 2
/** Added to the logits of the remaining tokens of a word that has begun. */
const GO_ON = 8

interface Wanted {
  readonly stem: string
  /** The tokens of each of its forms in the middle of a sentence. */
  readonly forms: readonly (readonly number[])[]
}

const keepWords: LogitProcessorFactory = ({ tokenize, tokenText }) => {
  const inside = (word: string) => tokenize(`a ${word}`).slice(tokenize('a').length)
  const articles = new Set(ARTICLES.map((article) => inside(article).at(-1)))
  let wanted: readonly Wanted[] | undefined
  let text = ''
  let read = 0
  let start = 0
  return (logits, tokens, length) => {
    if (wanted?.length === 0) return
    for (; read < length; read++) text += tokenText(tokens[read]!)
    if (wanted === undefined) {
      const { request, begun } = lastTurn(text)
      wanted = askedWords(request).map((word) => ({
        stem: stemOf(word).toLowerCase(),
        forms: formsOf(word).map(inside),
      }))
      text = begun
      start = length
    }
    const told = text.toLowerCase()
    wanted = wanted.filter(({ stem }) => !hasWord(told, stem))
    if (wanted.length === 0) return
    const rise = Math.min(1, (length - start) / RISE)
    const shift = FIRST_SHIFT + (LAST_SHIFT - FIRST_SHIFT) * rise
    const follows = articles.has(tokens[length - 1]!)
    const least = largest(logits) - (follows ? DISTANCE_AFTER_ARTICLE : DISTANCE)
    const added = new Map<number, number>()
    for (const ids of wanted.flatMap(({ forms }) => forms)) {
      const begun = begunOf(ids, tokens, length)
      const id = ids[begun]!
      if (begun > 0) added.set(id, GO_ON)
      else if (logits[id]! > least) added.set(id, follows ? TIMES_AFTER_ARTICLE * shift : shift)
    }
    for (const [id, amount] of added) logits[id]! += amount
  }
}
export default keepWords

/** The last request in a prompt in Halfbyte Stories' format, and the beginning of the answer. */
function lastTurn(prompt: string): { request: string; begun: string } {
  const request = prompt.slice(prompt.lastIndexOf('<|user|>') + '<|user|>'.length)
  const begun = request.slice(request.lastIndexOf('<|assistant|>') + '<|assistant|>'.length)
  return { request: request.slice(0, Math.max(0, request.indexOf('<|end|>'))), begun }
}

/** True if a word of the text begins with the stem; both are lower case. */
function hasWord(text: string, stem: string): boolean {
  for (let at = text.indexOf(stem); at >= 0; at = text.indexOf(stem, at + 1)) {
    if (at === 0 || !/\p{L}/u.test(text[at - 1]!)) return true
  }
  return false
}

/** How many of the word's tokens the answer ends with; 0 if it ends with all of them. */
function begunOf(ids: readonly number[], tokens: ArrayLike<number>, length: number): number {
  for (let count = Math.min(ids.length - 1, length); count > 0; count--) {
    let same = 0
    while (same < count && tokens[length - count + same] === ids[same]) same += 1
    if (same === count) return count
  }
  return 0
}

function largest(logits: Float32Array): number {
  let most = Number.NEGATIVE_INFINITY
  for (let id = 0; id < logits.length; id++) most = Math.max(most, logits[id]!)
  return most
}
