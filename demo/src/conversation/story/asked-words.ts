// Required words of a story. In: a request in English. Out: the things, names and places that it mentions.

/** Maximum number of required words. More would leave the story no freedom. */
const MOST = 6

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/))

/** The word after one of these is required: "about pirates", "named Mia", "who could not jump". */
const BEFORE_A_WORD = setOf('about with of and or named called to not can could cannot')
/** These are followed by a thing, a person or a place, perhaps after adjectives: "a big red kite". */
const DETERMINERS = setOf('a an the my your his her its our their one two three four five some many')
/** These end a noun phrase: "a dragon who", "a boat on". */
const ENDS = setOf(
  `who whom whose that which what where when while because if but so then than too no never always
  in on at by for from into onto over under near behind beside between through across up down out off away
  is am are was were be been being has have had do does did will would should may might must
  i me you he him she it we us they them please there here again very really
  lost finds found goes went gets got gave gives came comes made makes met meets saw sees sits sat ran runs flew
  flies fell falls ate eats took takes wants wanted lives lived loves loved learns learned play plays played
  tell tells told give write hear just only also both all every each any other another`,
)
/** These name the story or its length, not its content. */
const ABOUT_THE_STORY = setOf(
  `story stories tale tales fairytale fairy bedtime book poem part parts role way lot bit few kind end ending
  beginning time day night once word words sentence sentences line lines short long longer new nice good great
  little small big something someone anything everything thing things`,
)

const STORY = /\b(?:story|stories|tale|tales)\b|\b(?:hear|make up)\b.*\babout\b/i

/**
 * The required words in order, without duplicates, at most six. Empty if the request is not for a story. Up
 * to three words after a determiner count, until a verb or a preposition, and one word after words such as
 * "about".
 */
export function askedWords(request: string): readonly string[] {
  if (!STORY.test(request)) return []
  const isShouted = request === request.toUpperCase()
  const found: string[] = []
  for (const clause of (isShouted ? request.toLowerCase() : request).split(/[.,;:!?\n"()]+/)) {
    const words = clause.match(/[\p{L}][\p{L}'’-]*/gu) ?? []
    // A list continues after its comma: "a story about a fox, pirates and gold".
    let left = found.length > 0 ? 1 : 0
    for (const word of words) {
      const plain = word.toLowerCase()
      if (DETERMINERS.has(plain)) left = 3
      else if (BEFORE_A_WORD.has(plain)) left = 1
      else if (ENDS.has(plain)) left = 0
      else if (left > 0) {
        left -= 1
        if (!ABOUT_THE_STORY.has(plain)) found.push(/^\p{Lu}/u.test(word) ? word : plain)
      }
    }
  }
  return [...new Set(found)].slice(0, MOST)
}

/** A word and its singular: a story about two friends may mention one friend. */
export function formsOf(word: string): readonly string[] {
  const one = word.replace(/(?<=\p{L}{3})ies$/u, 'y').replace(/(?<=\p{L}{2}[^su])s$/u, '')
  return one === word ? [word] : [word, one]
}

/** The common stem of all forms of a word. */
export const stemOf = (word: string): string => word.replace(/(?<=[^s]{3})(?:ies|s|y)$/i, '')
