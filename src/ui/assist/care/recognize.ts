// People in need. In: a user's message. Out: what they may need help with, and their language. The interface
// then answers by itself instead of the model.
import { memo } from '../../../core/base/values.ts'
import { ASIAN } from './patterns/asian.ts'
import { ENGLISH } from './patterns/english.ts'
import { GERMANIC } from './patterns/germanic.ts'
import type { Need, PatternSet } from './patterns/pattern-set.ts'
import { ROMANCE } from './patterns/romance.ts'
import { SEMITIC } from './patterns/semitic.ts'
import { SLAVIC } from './patterns/slavic.ts'

export type { Need }

export interface RecognizedNeed {
  readonly need: Need
  /** The language of the message, as a BCP 47 code. */
  readonly language: string
}

/** Longer texts are documents; only their beginning is checked. */
const MOST_LETTERS = 4000

/** Letters whose accent is not a separate mark, and forms that people use interchangeably. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  ...[...'łđıøєґأإآىة'].map((letter, index) => [letter, [...'ldioегااايه'][index]!] as const),
  ['ß', 'ss'],
  ['œ', 'oe'],
])

/** Without accents, vowel points and tatweel, with straight quotation marks. */
const unaccented = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0670]/g, '')
    .normalize('NFC')
    .replaceAll(/[łđıøєґأإآىةßœ]/g, (letter) => LETTERS.get(letter)!)
    .replaceAll(/[’ʼ`´]/g, "'")

const folded = (text: string): string =>
  unaccented(text.slice(0, MOST_LETTERS).toLowerCase())
    .replaceAll(/[“”„«»「」『』]/g, '"')
    .replaceAll(/[ \t\r\u00a0\u3000]+/g, ' ')

const LETTER = String.raw`[\p{L}\p{N}]`
/** `\b` for all scripts: the built-in one supports only ASCII. */
const BOUNDARY = `(?:(?<=${LETTER})(?!${LETTER})|(?<!${LETTER})(?=${LETTER}))`

/** Scripts, with a pattern for their letters. A text is compared only with languages in its scripts. */
const SCRIPTS = {
  latin: /[a-z]/,
  cyrillic: /\p{Script=Cyrillic}/u,
  hebrew: /\p{Script=Hebrew}/u,
  arabic: /\p{Script=Arabic}/u,
  devanagari: /\p{Script=Devanagari}/u,
  han: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
  hangul: /\p{Script=Hangul}/u,
} as const

/** The patterns in use. They live for one task: those of all languages would take 6 MB in each tab. */
const compiled = new Map<readonly string[], RegExp>()

class Language {
  readonly #set: PatternSet

  constructor(set: PatternSet) {
    this.#set = set
  }

  get name(): string {
    return this.#set.language
  }

  isIn(text: string): boolean {
    return SCRIPTS[this.#set.script ?? 'latin'].test(text)
  }

  needIn(text: string): Need | undefined {
    const { selfHarm, medical, violence, harmless } = this.#set
    const serious = this.#corrected(text).replaceAll(this.#any(harmless, 'g'), ' ')
    if (this.#any(medical).test(serious)) return 'medical'
    if (this.#any(violence).test(serious)) return 'violence'
    return this.#any(selfHarm).test(serious) ? 'self-harm' : undefined
  }

  #corrected(text: string): string {
    const { spellings = [] } = this.#set
    return spellings.reduce(
      (written, spelling) =>
        written.replaceAll(
          memo(compiled, spelling, () => this.#compile([spelling[0]], 'g', 'both')),
          spelling[1],
        ),
      text,
    )
  }

  #any(sources: readonly string[], flags = ''): RegExp {
    return memo(compiled, sources, () => this.#compile(sources, flags))
  }

  #compile(sources: readonly string[], flags: string, edges = this.#set.edges ?? 'start'): RegExp {
    const { script = 'latin' } = this.#set
    const source = unaccented(sources.join('|'))
    // Folded Latin text is ASCII, for which the built-in `\b` is correct and much faster.
    if (script === 'latin') return new RegExp(`\\b(?:${source})${edges === 'both' ? '\\b' : ''}`, flags)
    const start = edges === 'none' ? '' : `(?<!${LETTER})`
    const spelt = source.replaceAll('\\b', BOUNDARY).replaceAll('\\w', LETTER)
    return new RegExp(`${start}(?:${spelt})`, `${flags}u`)
  }
}

const LANGUAGES = [ENGLISH, ...ROMANCE, ...GERMANIC, ...SLAVIC, ...ASIAN, ...SEMITIC].map(
  (set) => new Language(set),
)

/**
 * Matches one of the words with an ending of up to three letters; words in scripts without spaces match
 * anywhere.
 */
const anyWord = (before: string, words: readonly string[], signs: string): RegExp => {
  const spaced = unaccented(words.join(' ').replaceAll(' ', '|'))
  return new RegExp(
    `${before}(?<!${LETTER})(?:${spaced})${LETTER}{0,3}(?!${LETTER})|(?:${signs.replaceAll(' ', '|')})`,
    'u',
  )
}

/** Works of fiction and reference, in all languages. */
const WORK = anyWord(
  '',
  [
    'story stories tale poem song lyric film movie scene script screenplay novel book game quote dialogue essay article plot character episode series',
    'historia cuento poema cancion pelicula guion escena novela libro juego personaje musica filme roteiro livro jogo personagem',
    'histoire conte poème chanson roman livre scène jeu personnage storia racconto poesia canzone romanzo gioco personaggio',
    'geschichte gedicht lied buch szene drehbuch spiel zitat verhaal liedje boek spel opowiadanie wiersz piosenk powieść książk gra gry grze',
    'рассказ стих песн фильм роман книг истори сценари игр персонаж оповідання вірш пісн гру hikaye şiir masal şarkı oyun',
    'قصه قصيده اغنيه فيلم روايه كتاب لعبه סיפור שיר סרט ספר משחק कहानी कविता गाना फिल्म उपन्यास खेल cerita puisi lagu buku permainan',
    'truyện thơ phim game',
  ],
  '故事 诗 詩 小说 小說 歌 电影 電影 游戏 遊戲 剧本 劇本 物語 小説 映画 曲 ゲーム 이야기 소설 노래 영화 게임 대본',
)
/** Requests for such a work, near the beginning of a sentence. */
const REQUEST = anyWord(
  '^(?:\\S+ ){0,4}?',
  [
    'write compose create generate invent continue summarize summarise translate explain recommend describe review analyze analyse rewrite what which',
    'escribe escribir cuenta crea traduce resume explica escreve escreva conte traduza explique écris écrire raconte traduis résume invente',
    'scrivi scrivere racconta traduci riassumi spiega schreib schreibe erzähl übersetze schrijf vertel vertaal napisz opowiedz przetłumacz',
    'напиши расскажи переведи объясни розкажи переклади yaz anlat çevir اكتب احك ترجم لخص اشرح כתוב כתבי ספר ספרי תרגם',
    'लिख सुना अनुवाद tulis tuliskan ceritakan terjemahkan viết kể dịch',
  ],
  '写 寫 讲 講 翻译 翻譯 推荐 推薦 書いて 訳して 써 번역 추천',
)
/** Questions about the meaning of a word. */
const DEFINITION =
  /\b(?:was ist ein|was sind die symptome|wat is een|wat zijn de symptomen|co to jest|jakie sa objawy|que es un|cuales son los sintomas|o que e um|quais sao os sintomas|qu'est-ce qu|quels sont les symptomes|che cos'e|quali sono i sintomi|apa itu|apa gejala)|(?:что такое|какие симптомы|каковы симптомы|що таке|які симптоми|क्या है|क्या होता|के लक्षण|la gi\b|什么是|什麼是|是什么|是什麼|的症状|的症狀|とは|の症状|뭐예요|무엇인가|란 무엇|증상이 뭐|ما هو|ما هي|מה זה|מה הם)/u
/** Events in a work, not in the writer's life. */
const INSIDE_WORK =
  /\b(?:in (?:the|my|this|a|our) (?:game|story|novel|book|film|movie|script|play|series|dream)|my (?:main )?character|en (?:el|mi) (?:juego|novela|libro)|dans (?:le|mon) (?:jeu|roman|film)|im (?:spiel|film|roman|buch)|in meinem (?:roman|spiel)|nel (?:gioco|film|libro|mio romanzo)|no (?:jogo|filme|livro)|в (?:игре|фильме|книге|моем романе)|w (?:grze|filmie|ksiazce)|in het spel)\b|游戏里|遊戲裡|小说里|ゲームで|ゲームの中|小説の中|게임에서|소설에서|في اللعبه|במשחק/u
const SAYS =
  /(?:\bsay|\bmeans?\b|\bmeaning|translat|\bquote|line\b|ubersetz|signif|bedeutet|traduc|tradu[isz]|как (?:сказать|будет)|意思|意味|何と言|英語で|뜻|영어로|vertaal|przetłumacz|naar het|英文|英语|מה פירוש|מה זה|معني)/u

/**
 * The text without the content of stories, songs and games: quotations in sentences that mention one, and
 * sentences that ask for one.
 */
function withoutFiction(text: string): string {
  return text
    .split(/(?<=[.!?。!?\n।])(?![^"]*"(?:[^"]*"[^"]*")*[^"]*$)/u)
    .map((sentence) => {
      const isWork = WORK.test(sentence)
      if (INSIDE_WORK.test(sentence) || DEFINITION.test(sentence)) return ' '
      if (isWork && REQUEST.test(sentence.trimStart()) && !/suicide note/.test(sentence)) return ' '
      return isWork || SAYS.test(sentence)
        ? sentence.replaceAll(/"[^"]*"|(?<![\p{L}])'[^']*'(?![\p{L}])/gu, ' ')
        : sentence
    })
    .join('')
}

/**
 * What the writer, or someone they know, may need help with: suicide and self-harm, a medical emergency, or
 * violence. Understands 19 languages. Undefined for other messages, and for events in stories and games.
 */
export function recognizeNeed(text: string): RecognizedNeed | undefined {
  if (compiled.size === 0) setTimeout(() => compiled.clear())
  const said = withoutFiction(folded(text))
  for (const language of LANGUAGES) {
    const need = language.isIn(said) ? language.needIn(said) : undefined
    if (need !== undefined) return { need, language: language.name }
  }
  return undefined
}
