// The frame of a question. In: a question in lower case. Out: its content, without polite words.

/** Words before and after a question that are not part of it. */
const ASKS = [
  'and|so|now|then|ok|okay|hi|hello|hey|please|also|quick(?:ly)?|can you|could you|would you|tell (?:me|us)|do you know',
  'give me|show me|find|i (?:need|want|would like)(?: to know)?|help me with|calculate|compute|solve|evaluate|the (?:result|value|answer) (?:of|to)',
  "work (?:this |that |it )?out|what(?:['’]?s| is| are| does| do i get for| would be)?|how much(?: is| are| does)?|how many(?: is| are)?|how (?:tall|long|heavy|far|hot|cold|big) (?:is|are)",
].join('|')
const BEFORE = new RegExp(`^(?:(?:${ASKS})(?!\\w)[\\s,:]*)+`)
const AFTER =
  /(?:\s*[?=.!,]|\s+(?:please|for me|is|are|be|makes?|gives?|(?:is )?equal to|comes to|equals?|in total|altogether|now|then|too|thanks?(?: you)?))+$/

export interface Frame {
  readonly bare: string
  /** Whether the text asks for a value and does not just mention something. */
  readonly isAsked: boolean
}

/** The question without its frame: `17 + 25` of `Please, what is 17 + 25?`. A factorial's `!` is kept. */
export function bareQuestion(text: string): Frame {
  const factorial = /^[\d\s]*\d!$/.test(text.replace(BEFORE, '').replace(/[?=.\s]+$/, ''))
  const start = text.replace(BEFORE, '')
  const bare = (factorial ? start.replace(/[?=.\s]+$/, '') : start.replace(AFTER, '')).trim()
  return { bare, isAsked: start !== text || /[?=]\s*$/.test(text) }
}

/**
 * A form of question and a function for its answer, which is undefined if the question's values have none.
 */
export type Form<Given extends readonly unknown[]> = readonly [
  RegExp,
  (found: RegExpExecArray, ...given: Given) => string | undefined,
]

/**
 * The answer of the first form that matches one of `texts` and has an answer. The texts are spellings of one
 * question.
 */
export function firstAnswer<Given extends readonly unknown[]>(
  forms: readonly Form<Given>[],
  texts: readonly string[],
  ...given: Given
): string | undefined {
  for (const [form, read] of forms) {
    const found = texts.map((text) => form.exec(text)).find((match) => match !== null)
    const said = found && read(found, ...given)
    if (said !== undefined) return said
  }
  return undefined
}
