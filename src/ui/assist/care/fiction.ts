// Fiction and questions about words. In: a folded message. Out: the message without them.
import { LETTER, unaccented } from './fold.ts'

/**
 * Matches one of the words with an ending of up to three letters, or without one if a dot follows in the
 * list; words in scripts without spaces match anywhere.
 */
const anyWord = (before: string, words: readonly string[], signs: string): RegExp => {
  const endings = (word: string) => (word.endsWith('.') ? word.slice(0, -1) : `${word}${LETTER}{0,3}`)
  const spaced = unaccented(words.join(' ')).split(' ').map(endings).join('|')
  return new RegExp(
    `${before}(?<!${LETTER})(?:${spaced})(?!${LETTER})|(?:${signs.replaceAll(' ', '|')})`,
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
    'truyện. thơ. phim. game.',
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
    'लिख सुना अनुवाद tulis tuliskan ceritakan terjemahkan viết. kể. dịch.',
  ],
  '写 寫 讲 講 翻译 翻譯 推荐 推薦 書いて 訳して 써 번역 추천',
)
/** Beginnings of sentences that ask for the meaning of a word. */
const DEFINITION =
  /^\P{L}*(?:\S+ ){0,2}(?:was ist ein|was sind die symptome|wat is een|wat zijn de symptomen|co to jest|jakie sa objawy|que es un|cuales son los sintomas|o que e um|quais sao os sintomas|qu'est-ce qu|quels sont les symptomes|che cos'e|quali sono i sintomi|apa itu|apa gejala)|(?:что такое|какие симптомы|каковы симптомы|що таке|які симптоми|क्या है|क्या होता|के लक्षण|la gi\b|什么是|什麼是|是什么|是什麼|的症状|的症狀|とは|の症状|뭐예요|무엇인가|란 무엇|증상이 뭐|ما هو|ما هي|מה זה|מה הם)/u
/** Events in a work, not in the writer's life. */
const INSIDE_WORK =
  /\b(?:in (?:the|my|this|a|our) (?:game|story|novel|book|film|movie|script|play|series|dream)|my (?:main )?character|en (?:el|mi) (?:juego|novela|libro)|dans (?:le|mon) (?:jeu|roman|film)|im (?:spiel|film|roman|buch)|in meinem (?:roman|spiel)|nel (?:gioco|film|libro|mio romanzo)|no (?:jogo|filme|livro)|в (?:игре|фильме|книге|моем романе)|w (?:grze|filmie|ksiazce)|in het spel)\b|游戏里|遊戲裡|小说里|ゲームで|ゲームの中|小説の中|게임에서|소설에서|في اللعبه|במשחק/u
const SAYS =
  /(?:\bsay|\bmeans?\b|\bmeaning|translat|\bquote|line\b|ubersetz|signif|bedeutet|traduc|tradu[isz]|как (?:сказать|будет)|意思|意味|何と言|英語で|뜻|영어로|vertaal|przetłumacz|naar het|英文|英语|מה פירוש|מה זה|معني)/u

/**
 * The text without the content of stories, songs and games: quotations in sentences that mention one, and
 * sentences that ask for one.
 */
export function withoutFiction(text: string): string {
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
