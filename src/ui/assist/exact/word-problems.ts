// Word problems. In: a question in sentences, such as "I have 3 apples and eat 1. How many are left?". Out:
// its expression, or none. Every clause and every number must be understood; otherwise there is none.
import { inFigures } from './numbers.ts'
import { askedRate } from './rates.ts'

const WHO = `(?:(?:if |then |and |but |so |suppose |later |first |now |today |yesterday )*)(i|you|we|they|he|she|it|there|[a-z]+|(?:my|your|the|a|an) [a-z]+)`
const N = String.raw`(\d+(?:\.\d+)?)`
const MORE = '(?:(?:only|just|about|another|more|other|extra) )?'
const THING = String.raw`(?: (?:more |of (?:them|those|these|my|the|his|her|their) ?|red |green |blue |big |small |new )*((?!(?:to|for|on|at|with|from|of|each)\b)[a-z]+)?(?: (?!each\b)[a-z]+)?)?`

const HAS =
  'have|has|had|own|owns|got|start with|starts with|started with|begin with|begins with|keep|keeps|hold|holds|held|contain|contains|are|were|is'
const LOSES = [
  'eat|eats|ate|give away|gives away|gave away|give|gives|gave|lose|loses|lost|spend|spends|spent|sell|sells|sold|use|uses|used|use up|uses up',
  'break|breaks|broke|drop|drops|dropped|throw away|throws away|threw away|pay|pays|paid|drink|drinks|drank|donate|donates|donated|remove|removes|removed|lend|lends|lent|burn|burns|burned',
].join('|')
const GAINS =
  'get|gets|got|buy|buys|bought|find|finds|found|receive|receives|received|earn|earns|earned|pick|picks|picked|win|wins|won|add|adds|added|collect|collects|collected|am given|is given|are given|was given|save|saves|saved|bake|bakes|baked'
const LEAVE =
  'fly away|flies away|flew away|leave|leaves|left|run away|ran away|die|dies|died|break|breaks|broke|go home|went home|get off|got off|gets off|are eaten|were eaten|is eaten|was eaten|are sold|were sold|are broken|were broken|are stolen|were stolen|melt|melted|pop|pops|popped|burst|bursts|escape|escapes|escaped|swim away|swam away|disappear|disappeared|are taken|were taken|fall off|fell off|go away|went away'
const COME =
  'arrive|arrives|arrived|come|comes|came|join|joins|joined|get on|got on|gets on|land|lands|landed|come in|came in|move in|moved in'

const PERSONS: readonly string[] = ['i', 'you', 'we', 'they', 'he', 'she', 'it']
const MONEY = /^(?:dollars?|euros?|pounds?|cents?|francs?|yen)$/
const MONEY_NAMES: ReadonlyMap<string, string> = new Map([
  ['$', 'dollars'],
  ['€', 'euros'],
  ['£', 'pounds'],
])
/** Objects of a loss that do not name the thing lost: "give 2 to Anna". */
const TO_SOMEONE = `(?: (?:to|for|on|at|with) .+)?`

const singular = (noun: string): string =>
  noun
    .replace(/ies$/, 'y')
    .replace(/(?<=[sxz]|ch|sh)es$/, '')
    .replace(/s$/, '')

interface Story {
  readonly owner: string
  readonly thing: string
  expression: string
}

const STARTS = new RegExp(`^${WHO} (?:${HAS}) ${MORE}${N}${THING}(?: (?:in|on|at|for|from) .+)?$`)
const PACKS = new RegExp(
  `^${WHO} (?:have|has|had) ${N} (?:packs?|boxes|bags|cartons|packets|baskets|crates) of ${N} ([a-z]+)$`,
)
const LOST = new RegExp(`^(?:${WHO} )?(?:${LOSES}) (?:(?:away|up) )?${MORE}${N}${THING}${TO_SOMEONE}$`)
const LOST_TO = new RegExp(
  `^(?:${WHO} )?(?:give|gives|gave|lend|lends|lent|pay|pays|paid) (?:him|her|them|you|my [a-z]+|[a-z]+) ${MORE}${N}${THING}$`,
)
const GAINED = new RegExp(`^(?:${WHO} )?(?:${GAINS}) ${MORE}${N}${THING}(?: (?:from|in|at|on) .+)?$`)
const GIVEN_ME = new RegExp(`^(?:my [a-z]+|[a-z]+) (?:give|gives|gave) (me|us) ${MORE}${N}${THING}$`)
/** A loss caused by a relative of the owner, or from the owner. */
const TAKEN = new RegExp(
  `^(?:(?:my|his|her|their|our) [a-z]+|[a-z]+(?= (?:takes?|took|steals?|stole)\\b)) (?:eats?|ate|takes?|took|steals?|stole) ${N}${THING}(?: from (?:me|him|her|them|us)| away)?$`,
)
/** A loss caused by a group: "kids ate 18". */
const EATEN = new RegExp(
  `^(?:the )?(?:kids|children|guests|people|students|friends|boys|girls|mice|visitors) (?:eats?|ate|takes?|took|use|used|drank) ${N}${THING}$`,
)
const BOUGHT_EACH = new RegExp(
  `^(?:${WHO} )?(?:buy|buys|bought) ${N} [a-z]+(?: [a-z]+)? (?:for|at) ${N} ([a-z]+) (?:each|apiece)$`,
)
/** The previous event, again: "and then 14 more". */
const AGAIN = new RegExp(`^${N} again$`)
const LEFT = new RegExp(`^${N}${THING} (?:${LEAVE})$`)
const CAME = new RegExp(`^${MORE}${N}${THING} (?:${COME})$`)
const PAID_FOR = new RegExp(
  `^(?:${WHO} )?(?:buy|buys|bought) (?:a|an|some|the) [a-z ]+ (?:for|that costs) ${N}${THING}$`,
)
const LEFT_ASKED =
  /^how (?:many|much)(?: ([a-z]+))?(?: ([a-z]+))?(?: (?:are|is|do|does|did|have|has|will|would)\b)?[a-z ]*$/
const OTHER_ASKED =
  /\b(?:first|begin|beginning|start|before|originally|each|every|per|more|fewer|less|than|cost|costs|long|far|eat|eaten|ate|lose|lost|spend|spent|give|gave|given|gone|sold|sell|buy|bought|left the|get|got|find|found)\b/

const clausesOf = (text: string): readonly string[] =>
  text
    .split(/(?<!\d)[.;,]|[.;,](?!\d)|\?|!|\b(?:and|then|but)\b|(?=\bhow (?:many|much)\b)/)
    .map((clause) => clause.trim().replace(/^(?:if|then|so|later|after that|now) /, ''))
    .filter((clause) => clause !== '')

/** One event of the story; undefined if the clause is not understood. */
function event(clause: string, { owner, thing }: Story): string | undefined {
  const isOwn = (who: string | undefined) =>
    who === undefined ||
    who === owner ||
    (PERSONS.includes(who) && !['i', 'you', 'we'].includes(who) && !['i', 'you', 'we'].includes(owner))
  const isSame = (noun: string | undefined) =>
    noun === undefined || noun === '' || /^ones?$/.test(noun) || singular(noun) === singular(thing)
  const mine = GIVEN_ME.exec(clause)
  if (mine !== null)
    return owner === (mine[1] === 'me' ? 'i' : 'we') && isSame(mine[3]) ? ` + ${mine[2]}` : undefined
  const eaten = EATEN.exec(clause)
  if (eaten !== null) return isSame(eaten[2]) ? ` - ${eaten[1]}` : undefined
  const bought = BOUGHT_EACH.exec(clause)
  if (bought !== null)
    return isOwn(bought[1]) && MONEY.test(thing) && isSame(bought[4])
      ? ` - ${bought[2]} * ${bought[3]}`
      : undefined
  const taken = TAKEN.exec(clause)
  if (taken !== null) return isSame(taken[2]) ? ` - ${taken[1]}` : undefined
  const lost = LOST.exec(clause)
  if (lost !== null) return isOwn(lost[1]) && isSame(lost[3]) ? ` - ${lost[2]}` : undefined
  const given = LOST_TO.exec(clause)
  if (given !== null) return isOwn(given[1]) && isSame(given[3]) ? ` - ${given[2]}` : undefined
  const paid = PAID_FOR.exec(clause)
  if (paid !== null)
    return isOwn(paid[1]) && MONEY.test(thing) && isSame(paid[3]) ? ` - ${paid[2]}` : undefined
  const gained = GAINED.exec(clause)
  if (gained !== null) return isOwn(gained[1]) && isSame(gained[3]) ? ` + ${gained[2]}` : undefined
  const left = LEFT.exec(clause)
  if (left !== null) return isSame(left[2]) ? ` - ${left[1]}` : undefined
  const came = CAME.exec(clause)
  return came !== null && isSame(came[2]) ? ` + ${came[1]}` : undefined
}

/** Whether the question is about the story's owner, not about whom something was given to. */
function isAskedOf(asked: string, { owner }: Story, clauses: readonly string[]): boolean {
  const who = /\b(?:do|does|did|will|would) (?:the )?((?:my |your )?[a-z]+)/.exec(asked)?.[1]
  if (who === undefined || who === owner || who === owner.replace(/^(?:the|an?) /, '')) return true
  if (/^(?:i|you|we)$/.test(owner)) return /^(?:i|you|we)$/.test(who)
  const hasOther = clauses.slice(1, -1).some((clause) => / (?:to|from|with) [a-z]/.test(clause))
  return PERSONS.includes(who) && !/^(?:i|you|we)$/.test(who)
    ? !hasOther || /\b(?:left|remain|still)\b/.test(asked)
    : owner === 'there'
}

/** The expression of gains and losses of one quantity. */
function balance(text: string): string | undefined {
  const clauses = clausesOf(text)
  const asked = clauses.at(-1) ?? ''
  const question = LEFT_ASKED.exec(asked)
  if (clauses.length < 3 || question === null || OTHER_ASKED.test(asked)) return undefined
  const packs = PACKS.exec(clauses[0]!)
  const first = packs ?? STARTS.exec(clauses[0]!)
  const thing = packs === null ? first?.[3] : packs[4]
  if (first === null || thing === undefined) return undefined
  const start = packs === null ? first[2]! : `${packs[2]} * ${packs[3]}`
  const story: Story = { owner: first[1]!, thing, expression: start }
  let last = ''
  for (const clause of clauses.slice(1, -1)) {
    const more = AGAIN.exec(clause)
    const change = more !== null && last !== '' ? `${last.slice(0, 3)}${more[1]}` : event(clause, story)
    if (change === undefined) return undefined
    story.expression += change
    last = change
  }
  const named = question[1]
  if (!isAskedOf(asked, story, clauses)) return undefined
  const isNamed =
    named === undefined ||
    singular(named) === singular(thing) ||
    /^(?:are|is|do|does|have|has|will|money|remain|left)$/.test(named)
  return isNamed ? story.expression : undefined
}

const EACH = '(?: each| apiece| per [a-z]+| a piece| in each(?: [a-z]+)?| on each(?: [a-z]+)?| every [a-z]+)'
/** Questions about equal groups, with their expressions. Each form has all numbers of the question. */
const GROUPS: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(
      `^(?:if )?(?:an?|1|each|every) (?<pack>[a-z]+) (?:holds?|has|have|contains?) ${N} (?<thing>[a-z]+)[.,;]* how many \\k<thing> (?:are |are there )?in ${N} \\k<pack>(?:es|s)?$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^(?:if )?(?:${WHO} (?:have|has|had|are|buy|buys|bought|own|owns) )?${N} [a-z]+ (?:with|of|each with|that each have|which each have|each have|each has|have|has|hold|holds|contain|contains|each hold|each contain|having) ${N} [a-z]+(?: [a-z]+)?${EACH}?[.,;?]* (?:how (?:many|much) [a-z ]+)$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^(?:if )?there are ${N} [a-z]+ (?:in|on) (?:each|every|a) [a-z]+[.,;]* how many (?:[a-z ]+) ${N} [a-z]+$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^(?:if )?(?:${WHO} (?:buy|buys|bought|sell|sells|sold|order|orders) )?${N} [a-z]+(?: [a-z]+)? (?:at|for|cost|costs|that cost) (?:[$€£] ?)?${N}(?: ?[$€£]| [a-z]+)?(?: each| apiece| per [a-z]+| a piece)[.,;?]* (?:how much|what)[a-z ']*$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^(?:if )?(?:an?|each|every) [a-z]+ costs? (?:[$€£] ?)?${N}(?: ?[$€£]| [a-z]+)?[.,;]* how much (?:do|does|would|will|is|are) ${N} (?:[a-z]+)(?: cost)?$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^${WHO} (?:has|have|had) ${N} ([a-z]+)[.,;]* (?:each|every) (?:[a-z]+) (?:has|have|had|holds|contains|gets) ${N} [a-z]+(?: [a-z]+)?[.,;]* how many [a-z ]+$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^(?:if )?${WHO} (?:read|reads|walk|walks|write|writes|earn|earns|drink|drinks|eat|eats|save|saves|run|runs|make|makes) ${N} [a-z]+ (?:per|an?|every|each) (?:day|week|hour|month|minute) for ${N} (?:day|week|hour|month|minute)s?[.,;]* how (?:many|much) [a-z ]+$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^(?:if )?${WHO} (?:drive|drives|walk|walks|run|runs|ride|rides|travel|travels|go|goes|cycle|cycles|fly|flies) (?:at )?${N} (?:km/h|kmh|kph|mph|km an hour|miles an hour|kilometres per hour|kilometers per hour|miles per hour|km per hour) for ${N} hours?[.,;]* how far[a-z ]*$`,
    ),
    '*',
  ],
  [
    new RegExp(
      `^(?:if )?(?:${WHO} )?(?:share|shares|split|splits|divide|divides)(?: equally)? (?:[$€£] ?)?${N}(?: [a-z]+)?(?: [a-z]+)?(?: equally| evenly)? (?:among|between|by|into) ${N} [a-z]+(?: equally| evenly)?[.,;?]* (?:how (?:many|much)[a-z ]* (?:each|get|gets|everyone|one)[a-z ]*)$`,
    ),
    '/',
  ],
  [
    new RegExp(
      `^${N} [a-z]+ (?:are |is )?(?:shared|split|divided)(?: equally| evenly)? (?:among|between|by|into) ${N} [a-z]+(?: equally| evenly)?[.,;?]* (?:how (?:many|much)[a-z ]* (?:each|get|gets|everyone|one)[a-z ]*)$`,
    ),
    '/',
  ],
]

/** The sum of two kinds of one thing. */
const KINDS = new RegExp(
  `^(?:${WHO} )?(?:are|have|has|had|see|sees|saw|buy|buys|bought) ${N} [a-z]+ ([a-z]+) and ${N} [a-z]+ ([a-z]+)[.,;]* how many ([a-z]+) (?:are|do|does|did|have|has)\\b[a-z ]*$`,
)

/** The sum of two owners' quantities of one thing. */
const TOGETHER = new RegExp(
  `^${WHO} (?:has|have|had|got) ${N} ([a-z]+)(?:,? and|\\.|,|;) (?:${WHO}) (?:has|have|had|got) ${N}(?: ([a-z]+))?[.,;]* how many (?:([a-z]+) )?(?:do|does|have|are)[a-z ]*(?:together|altogether|in total|in all)$`,
)

function kinds(text: string): string | undefined {
  const found = KINDS.exec(text)
  if (found === null || / more | fewer /.test(text)) return undefined
  const [, , one, thing, other, second, asked] = found
  return singular(thing!) === singular(second!) && singular(second!) === singular(asked!)
    ? `${one} + ${other}`
    : undefined
}

function together(text: string): string | undefined {
  const found = TOGETHER.exec(text)
  if (found === null) return undefined
  const [, , one, thing, , other, second = thing, asked = thing] = found
  return [second, asked].every((noun) => singular(noun!) === singular(thing!))
    ? `${one} + ${other}`
    : undefined
}

/** The price of several things; the price of one is asked for. */
const UNIT_PRICE = new RegExp(
  `^(?:if )?${N} ([a-z]+) cost (?:[$€£] ?)?${N}(?: ?[$€£]| [a-z]+)?[.,;]* how much (?:does|is|would) (?:1|an?|each) ([a-z]+)(?: cost)?$`,
)

function unitPrice(text: string): string | undefined {
  const found = UNIT_PRICE.exec(text)
  if (found === null) return undefined
  const [, amount, things, price, thing] = found
  return singular(things!) === singular(thing!) ? `${price} / ${amount}` : undefined
}

/** The expression of a word problem with one kind of step; undefined for a text not fully understood. */
export function askedProblem(question: string): string | undefined {
  const text = inFigures(question.trim())
    .replace(/\s+/g, ' ')
    .replace(/[?.!\s]+$/, '')
    .replace(/^(if )?1 (?=[a-z]+ costs?\b)/, '$1each ')
    .replace(/(?<=\b(?:and|then) \d+(?:\.\d+)?) more(?=[.,;?]|$| how\b)/g, ' again')
    .replace(/(?<=\d) (?:more|extra)\b/g, '')
  const worded = text.replace(
    /([$€£]) ?(\d+(?:\.\d+)?)/g,
    (_, sign, figures) => `${figures} ${MONEY_NAMES.get(sign)}`,
  )
  const both = askedRate(worded) ?? together(text) ?? kinds(text) ?? unitPrice(text)
  if (both !== undefined) return both
  for (const [form, sign] of GROUPS) {
    const found = form.exec(text)
    if (found === null) continue
    const numbers = found.slice(1).filter((group) => group !== undefined && /^\d/.test(group))
    const all = text.match(/\d+(?:\.\d+)?/g) ?? []
    if (numbers.length === 2 && all.length === 2) return numbers.join(` ${sign} `)
  }
  return balance(worded)
}
