// Care. In: a user's message. Out: whether someone may be at risk of suicide or self-harm. The page then
// answers itself, whatever the model would say.

import { splitQuotes } from './files/attachments.ts'
import type { StoredMessage } from './store/conversations.ts'

/** Longer texts are documents, of which only the beginning is checked. */
const MOST_LETTERS = 4000

/** In lower case, with straight apostrophes and single spaces, without Hebrew vowel points. */
const plain = (text: string): string =>
  text
    .slice(0, MOST_LETTERS)
    .toLowerCase()
    .replaceAll(/[’ʼ`´]/g, "'")
    .replaceAll(/[\u0591-\u05c7]/g, '')
    .replaceAll(/\s+/g, ' ')

/** Joins alternatives, separated by `|`, given in several parts to fit the line width. */
const either = (...parts: readonly string[]): string => `(?:${parts.join('|')})`

const MEANS = either(
  "want|wanna|wish|would like|'d like|need|feel like|going|gonna|plan|planning|think|thinking|thought",
  'try|tried|trying|decided|about|ready',
)
const HARM = 'kill|hurt|harm|hang|drown|shoot|unalive'
const HARMING = 'killing|hurting|harming|hanging|drowning|shooting'
const WANT = either("want|wanna|wish|would like|'d like|need")
const NOT = either("do not|don't|dont|no longer|can't|cannot|cant")
const SOMEONE = either(
  'friend|brother|sister|mother|father|mum|mom|dad|son|daughter|child|wife|husband|partner',
  'boyfriend|girlfriend|colleague|roommate|cousin|student',
)
const OTHERS = either('everyone|everybody|they|the world|my family|my parents|my friends|my kids')

const ENGLISH: readonly string[] = [
  `${MEANS}(?: to| of| about)* (?:${HARM}|${HARMING}) my ?self`,
  `${MEANS}(?: to| of| about)* (?:cut|cutting) my ?self(?! (?:a|an|some|out|off|short)\\b)`,
  `(?:${HARMING}|kill|unalive) my ?self`,
  '(?:keep|started|been) cutting my ?self',
  'i self[ -]harm',
  `${either('i|i just|i really|i only|i sometimes|just|really')} ${WANT} (?:to )?${either('die|be dead|not exist')}`,
  "i (?:wish i (?:was|were) (?:dead|not alive|never born)|wish i had never been born|hope i don't wake up)",
  "(?:i'd|i would|i am|i'm) (?:be )?better off dead",
  `${OTHERS} (?:would|will|'d|'ll) be (?:happier|better|better off) without me`,
  `i ${NOT}(?: really| even)? (?:want to|wanna) (?:live|be alive|exist|wake up|be here)(?! (?:in|with|at|near|there|like)\\b)`,
  `i ${NOT} (?:go on living|see a reason to (?:live|go on))`,
  '(?:no (?:reason|point)(?: left)? (?:to live|in living)|nothing(?: left)? to live for)(?! in\\b)',
  '(?:end|ending|take|taking) my (?:own )?life',
  `${either('want to|wanna|going to|gonna|ready to')} end it all`,
  '(?:i am|i feel|i have been|been feeling|feeling|im)(?: so| very| really)? suicidal',
  "(?:i'm|i've been)(?: feeling)?(?: so| very| really)? suicidal",
  '(?:i|my)\\b.{0,40}\\b(?:suicidal thoughts|thoughts of suicide|commit suicide|attempt suicide|suicide (?:note|plan))',
  '(?:thinking|think|thought) (?:about|of) (?:suicide|committing suicide|ending it all)',
  'how (?:can|do|could|should) i (?:commit suicide|die (?:painlessly|quickly|without pain|in my sleep))',
  '(?:easiest|best|painless|quickest) ways? to (?:die|commit suicide|kill (?:myself|oneself|yourself))',
  `(?:my|a)(?: best| close| little| big)? ${SOMEONE}\\b.{0,40}\\b(?:suicidal|wants to die)`,
  `(?:my|a)(?: best| close| little| big)? ${SOMEONE}\\b.{0,40}\\b(?:${HARM}|${HARMING}) (?:him|her|them)sel(?:f|ves)`,
]

const HEBREW: readonly string[] = [
  '(?:להתאבד|מחשבות אובדניות|(?:אני|מרגישה?) אובדנית?|חושבת? על התאבדות)(?![א-ת])',
  '(?:רוצה|בא לי|מנסה|ניסיתי|הולכת?|חושבת?|איך) (?:להרוג|לפגוע|לחתוך|לתלות) (?:את |ב)?עצמי',
  '(?:רוצה|בא לי) (?:כבר |פשוט |רק )?(?:למות|לא להתעורר)(?![א-ת])(?! (?:מצחוק|מרעב|מבושה|על זה))',
  '(?:לא רוצה|אין לי כוח|אין לי סיבה|אין טעם|נמאס לי) (?:כבר |יותר |להמשיך )?לחיות(?! (?:פה|כאן|ב|עם))',
  '(?:לשים סוף ל|לסיים את |לקחת את |ליטול את )ה?חיי(?:ם שלי|י)?(?![א-ת])',
  '(?:עדיף|טוב יותר) (?:להם|לכולם|לעולם) בלעדיי?(?![א-ת])',
]

/** Harmless uses of such words. */
const ELSE = new RegExp(
  either(
    '\\b(?:die|kill myself|killing myself) (?:laughing|of (?:laughter|embarrassment|boredom|shame|old age))',
    '\\bdie (?:in (?:the|this|a) (?:game|level|match)|on this hill|happy)',
    '\\bto die for\\b',
    '\\bsuicide squad\\b',
  ),
  'g',
)

const PHRASES: readonly RegExp[] = [
  ...ENGLISH.map((phrase) => new RegExp(`\\b(?:${phrase})\\b`)),
  ...HEBREW.map((phrase) => new RegExp(phrase)),
]

/** True if the writer, or someone they know, may be in danger. */
export function needsCare(text: string): boolean {
  const said = plain(text).replaceAll(ELSE, ' ')
  return PHRASES.some((phrase) => phrase.test(said))
}

/**
 * Whether the last message is from a user who needs care. Attached files do not count as the user's words,
 * unless there are no others: a file may then be a long pasted text.
 */
export function wantsCare(messages: readonly StoredMessage[]): boolean {
  const last = messages.at(-1)
  if (last?.role !== 'user') return false
  const { text, files } = splitQuotes(last.content)
  return text === '' ? files.some((file) => needsCare(file.text)) : needsCare(text)
}
