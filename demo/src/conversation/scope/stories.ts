// Stories. In: a message in plain wording. Out: the request for a story, in words that the embedded models
// were trained on.

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/))

/**
 * Words before "story" in a request for one. One or two other words may be among them: "a werewolf story".
 */
const BEFORE = setOf(
  `please ok okay hey hi hello so now and then well yes good evening morning halfbyte can could will would may do shall
  let i we you us me want like love need to just am in the mood for how about what help try tell hear have see know
  any if write read give make up invent create compose come think of start begin continue finish imagine generate
  share get say out another one more some a an your my our that this two him her them kid kids child children
  short little long longer shorter funny silly happy sad scary spooky nice new bedtime night goodnight children's
  kid's fairy cute sweet small simple magic magical christmas halloween birthday winter summer animal adventure different
  fun cool great best favourite random original creative interesting exciting heartwarming quick tiny whole beautiful
  mystery ghost princess cat dog bear fox pirate space fantasy second other fictional friendly gentle quiet calm
  relaxing very really 's`,
)
const MAX_BEFORE = 16
const MAX_UNKNOWN = 1
const STORY = /\b(?:story|stories|tales?|fairytales?|fables?)\b/
/** What may follow "story" in a request for one. */
const AFTER =
  /^(?:$|[.!?,:;]|(?: (?:please|now|then|today|again|time|to me|for me|for us|halfbyte))+[.!?]*$| (?:about|with|of|where|when|in which|that (?:has|starts|begins|ends|is about)|which|who|whose|for (?:my|a|the|kids|children|our|me|us)|featuring|starring|on|in (?:the|a|an)|set|named|called|please|before)\b)/
/** Words that make a text about a story a task other than telling one. */
const OTHER_TASK =
  /\b(?:summar\w+|translat\w+|essay|poem|haiku|song|lyrics|rap|script|screenplay|novel|chapters?|thriller|analy\w+|review|rhym\w+|code|program|python|sql|app|news|history|true story|cover letter|e-?mail|outline|plot twist|synopsis|user stor\w+|story points?|moral of|explain\w*|meaning|author|who wrote|which book|bible|in the style of|based on|words? long|pages?|paragraphs?|(?:\d{3,}|thousand|hundred)[ -]words?|sex\w*|erotic\w*|porn\w*|nsfw|nude|naked|rape\w*|suicid\w*|wars?|nazis?|genocide|holocaust|terroris\w+|(?:want|wants|wanted) to die|instagram|facebook|linkedin|publish\w*|title|ideas?|prompts?|names? for|in (?:german|french|spanish|italian|portuguese|dutch|polish|turkish|russian|arabic|hebrew|hindi|chinese|japanese|korean|ukrainian|vietnamese|indonesian|bengali))\b/
const QUESTION = /^(?:what|who|where|when|why|how|which|is|are|was|were|did|does)\b(?! about\b)/
const BEGINNING = /^(?:once upon a time|long,? long ago)\b[, ]*/i
/** Requests longer than this, in characters, are too long for a small model. */
const MAX_LETTERS = 400

/** Keeps the case, because names need their capitals, unless all letters are capitals. */
const unshouted = (text: string): string => (text === text.toUpperCase() ? text.toLowerCase() : text)

const sentence = (text: string): string => {
  const trimmed = text.trim().replace(/[\s,.!?]*$/, '')
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}.`
}

/** A request for a new story; undefined for other messages. `text`: the same message as typed. */
export function storyWish(plain: string, text: string): string | undefined {
  if (plain.length > MAX_LETTERS || OTHER_TASK.test(plain)) return undefined
  const typed = unshouted(text.trim())
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\babt\b/gi, 'about')
  if (BEGINNING.test(plain)) return begun(typed)
  const found = STORY.exec(plain)
  if (found === null) {
    const [, about] =
      /^(?:(?:please|can you|could you) )*(?:tell|write)(?: me| us)? (?:something|one|another(?: one)?) (about (?:a|an|two|three|my) .{2,80})$/i.exec(
        typed,
      ) ?? []
    return about === undefined ? undefined : sentence(`Tell me a story ${about}`)
  }
  if (QUESTION.test(plain) || !AFTER.test(plain.slice(found.index + found[0].length))) return undefined
  const before = plain.slice(0, found.index).match(/[\p{L}']+/gu) ?? []
  const unknown = before.filter((word) => !BEFORE.has(word))
  if (before.length > MAX_BEFORE || unknown.length > MAX_UNKNOWN) return undefined
  return wished(typed)
}

/** "once upon a time there was a fox" as a request. */
function begun(typed: string): string {
  const [, hero] = /\bthere (?:once )?(?:was|were|lived|lives|is) (.{3,})$/i.exec(typed) ?? []
  return hero === undefined ? 'Tell me a story.' : sentence(`Tell me a story about ${hero}`)
}

const LISTENER =
  /\bfor (?:my|our) (?:\w+ )?(daughter|son|kid|child|niece|nephew|boy|girl|baby|toddler|grandson|granddaughter|little one)s?\b,?(?: (?:named|called))?(?: (\p{Lu}\p{Ll}+))?/u
const LIKES = /,?\s*(?:and )?\b(?:she|he|they|who) (?:really )?(?:loves?|likes?|is into|are into) (.+)$/i

/** The request in the form that the models know best. */
function wished(typed: string): string {
  const isBedtime = /\bbed ?time\b/i.test(typed)
  const kind = isBedtime ? 'bedtime story' : 'story'
  const [, listener = '', name] = LISTENER.exec(typed) ?? []
  const [, likes] = LIKES.exec(typed) ?? []
  // "She loves unicorns": one is enough for a short story.
  const liked = likes?.replace(/^(\p{Ll}{3,})s$/u, 'a $1')
  const bare = typed
    .replace(LIKES, '')
    .replace(LISTENER, '')
    .replace(/(?:\s*,?\s*\b(?:short|please|pls|plz|thanks|thank you|halfbyte)\b)+\W*$/i, '')
  const [, told] =
    /\b(?:story|stories|tales?|fairytales?|fables?)\b\W*((?:about|with|of|where|in which|featuring|starring)\b.+)$/i.exec(
      bare,
    ) ?? []
  const about = told?.replace(/^(?:of|featuring|starring)\b/i, 'about')
  const hero =
    name === undefined
      ? undefined
      : `a ${/^(?:son|nephew|boy|grandson)/i.test(listener) ? 'boy' : 'girl'} named ${name}`
  const more = [hero, liked].filter((each) => each !== undefined).join(' and ')
  if (about !== undefined)
    return sentence(`Tell me a ${kind} ${about}${liked === undefined ? '' : ` and ${liked}`}`)
  if (more !== '') return sentence(`Tell me a ${kind} about ${more}`)
  const [, which] =
    /\b(?:a|an|another|the|one) ((?:[\p{L}'-]+ ){1,3})(?:story|tale|fable)\b/iu.exec(bare) ?? []
  const words = (which ?? '')
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '' && !PLAIN_KINDS.has(word))
  const last = words.at(-1)
  if (last === undefined || isBedtime) return `Tell me a ${kind}.`
  return MOODS.has(last)
    ? `Tell me a ${words.join(' ')} story.`
    : `Tell me a story about a ${words.join(' ')}.`
}

/** Kinds that say nothing about a story for a model whose stories are all short ones for children. */
const PLAIN_KINDS = setOf(
  `more new other different short nice good little long fairy longer shorter small simple quick tiny great best whole
  favourite random original creative second kids kid's children children's child really very fictional made up`,
)
/** Kinds that cannot be the hero of a story. */
const MOODS = setOf(
  `funny silly happy sad scary spooky cute sweet magic magical fun cool exciting interesting heartwarming beautiful
  friendly gentle quiet calm relaxing adventure christmas halloween birthday winter summer love mystery fantasy space
  animal night goodnight`,
)

const LINES: readonly (readonly [heard: string, pattern: RegExp])[] = [
  [
    'Can you make it shorter?',
    /^(?:(?:please|now|can you|could you|and) )*(?:(?:make|tell|write|say) (?:it|that|this|the story) (?:again )?)?(?:but )?(?:a bit |a little |much )?(?:shorter|in short|in a few words|in two sentences|in one sentence)$/,
  ],
  [
    'Go on.',
    /^(?:(?:please|ok|yes|and|then|now|can you|could you) )*(?:go on|continue(?: it| the story)?|keep going|carry on|next|then|what (?:happened|happens|comes) (?:next|then|after that)|what (?:then|next)|(?:make it |a bit |much )?longer|(?:tell me )?more|the rest|finish (?:it|the story)|is that (?:it|all|the end)|and)$/,
  ],
  [
    'What was the story about?',
    /^(?:what|who) (?:is|was) (?:it|the story|this story|that story|this|that) about$/,
  ],
  ['How did the story end?', /^how (?:did|does) (?:it|the story|this story) end$/],
]

/** A request about the story just told; undefined for other messages. */
export function aboutStory(plain: string): string | undefined {
  const bare = plain
    .replaceAll(',', '')
    .replace(/[.!? ]+$/, '')
    .replace(/ (?:please|ok)$/, '')
  const line = LINES.find(([, pattern]) => pattern.test(bare))
  if (line !== undefined) return line[0]
  const [, about] =
    /^(?:now |and |ok |please )?(?:again|another(?: one)?|one more|(?:now )?the same(?: story)?|tell (?:it|one)(?: again)?|do it again|make (?:it|one)|how about one|what about one) (?:but )?(?:now )?(?:with|about) (.{2,80})$/.exec(
      bare,
    ) ?? []
  return about === undefined || OTHER_TASK.test(plain)
    ? undefined
    : sentence(`Tell me a story about ${about}`)
}
