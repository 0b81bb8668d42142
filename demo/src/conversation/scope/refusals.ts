// Refusals. In: a message in plain wording. Out: why none of this page's models should answer it, if there is
// a reason.

/** What no model here can do: look things up, or act outside the chat. */
const OUTSIDE = [
  /\b(?:weather|forecast)\b|^(?:is|will) it (?:be |going to (?:be )?)?(?:rain|snow|sunny|cold|hot|warm)/,
  /\b(?:today'?s|latest|current|recent|breaking|the|any) (?:news|headlines|scores?|stock prices?|exchange rates?)\b|^news\b|\bwhat is (?:the )?news\b/,
  /^(?:(?:please|can you|could you|hey|halfbyte|ok) )*(?:set|start|turn|switch|snooze|stop|cancel|add|put) (?:on |off |up |me )?(?:a|an|the|my) (?:\w+ )?(?:alarm|timer|reminder|clock|light|lights|meeting|event|appointment|stopwatch)\b/,
  /\b(?:set|turn|switch) (?:an alarm|a timer|(?:on|off) the lights?)\b|\bwake me up\b|\bremind me\b/,
  /^(?:(?:please|can you|could you|hey|halfbyte|ok) )*(?:play|open|call|phone|text|ring|order|book|buy|google|launch|download|install|show me the way|navigate)\b(?! me (?:a|an) )/,
  /\b(?:search|look (?:it |this |that )?up|find)\b.*\b(?:google|online|on the internet|the internet|the web|web|youtube|for me online)\b|^(?:search|google|browse)\b/,
  /^(?:(?:please|can you|could you|hey|halfbyte|ok|i want you to|i want|i need) )*(?:draw|paint|sketch|generate|create|make|show|send)(?: me| us)? (?:a|an|some|the|another|your)?\s?(?:\w+ ){0,2}(?:picture|image|photo|drawing|painting|logo|video|gif|meme|selfie)s?\b/,
  /^(?:(?:please|can you|could you|hey|halfbyte|ok) )*(?:draw|paint|sketch|sing)\b/,
  /^(?:(?:please|can you|could you) )*send (?:an?|the|this|my) (?:e-?mail|message|text|sms)\b/,
  /\b(?:near me|nearby|closest to me|around here)\b/,
]

/** Health, law and money: a wrong answer can harm. */
const HEALTH =
  /\b(?:paracetamol|ibuprofen|aspirin|tylenol|advil|antibiotics?|antidepressants?|medicines?|medications?|pills?|tablets?|painkillers?|insulin|vaccines?|dose|dosage|overdose|symptoms?|diagnos\w+|headaches?|migraines?|fever|infection|infected|rash|pregnan\w+|blood pressure|diabetes|cancer|allerg\w+|depress(?:ed|ion)|anxiety|panic attacks?|vomit\w*|diarrh\w+|nausea|swollen|broken (?:arm|leg|bone)|heart attack|miscarriage|birth control|contracepti\w+|lose weight|weight loss|calories|fasting|steroids?|detox|sore throat|cough|flu|covid|stomach ?ache|pain|(?:my|his|her|our) \w+ (?:hurts?|aches?|is swollen)|hangover|withdrawal|sleeping pills|melatonin|vitamins?)\b/
const LAW =
  /\b(?:landlord|tenant|evict\w*|kick me out|sue|sued|lawsuit|lawyers?|attorney|legal(?:ly)?|illegal|custody|divorce|speeding ticket|parking ticket|arrest\w*|copyright|visa|immigration|asylum|deport\w*|inheritance|testament|last will|fired|warranty|refund|notice period|bail)\b/
const MONEY =
  /\b(?:invest\w*|bitcoin|crypto\w*|stocks?|etfs?|mortgage|loans?|debts?|credit (?:card|score)|tax|taxes|pension|retirement|retire|savings?|save (?:for|money)|bankrupt\w*|insurance|interest rates?|gamble|gambling|betting|lottery|payday)\b/
/** Forms of a question for advice. */
const ADVICE =
  /\b(?:should|shall|can|could|may|must|do|is|are|will|would|what|how|which|when|why|where|need|safe|ok|allowed|help|advice|advise|recommend|cure|treat\w*|remedy|get rid of)\b/
/** Writing about these is another task. */
const WRITING =
  /^(?:(?:please|can you|could you|help me|hey|i need|i want) )*(?:write|draft|compose|translate|summar\w+|rewrite|proofread|correct|fix|explain|define|spell|make|create|tell|give me (?:a|an|\d+|some)|what does .* mean|what is (?:a|an|the)|what are)\b/

const HARM =
  /\b(?:(?:make|write|build|create|buy|get|synthesi[sz]e|cook) (?:a |an |some |me |my own )*(?:\w+ )?(?:bombs?|explosives?|grenades?|molotov\w*|weapons?|guns?|pistols?|ammo|silencers?|poison|ricin|napalm|meth|crack|cocaine|heroin|weed|cannabis|marijuana|lsd|mdma|ecstasy|drugs?|fentanyl|fake (?:id|ids|passports?|money)|counterfeit\w*|malware|viruse?s?|ransomware|keyloggers?)|pick (?:a |the )?locks?|hotwire|hack (?:into|someone|a|an|my|his|her|the)|break into|steal|shoplift|launder|kill (?:someone|somebody|him|her|a person|people)|hide a body|poison (?:someone|him|her|my|a)|stalk|blackmail|track (?:my|someone)|spy on|bypass|crack (?:a|the|someone's|his|her) password|child porn\w*|porn|nudes?|nsfw|erotic\w*|sex (?:story|scene|chat)|roleplay sex)\b/

/** True if a message is about health, law or money, whether it asks for advice or not. */
export const isDelicate = (plain: string): boolean => [HEALTH, LAW, MONEY].some((words) => words.test(plain))

export type Refusal = 'outside' | 'advice' | 'harm'

export function refusal(plain: string): Refusal | undefined {
  if (
    HARM.test(plain) &&
    !/\b(?:story|game|movie|film|novel|python|process|linux|gta|among us|minecraft|roblox|sims|skyrim|zelda|fortnite|cyberpunk)\b/.test(
      plain,
    )
  )
    return 'harm'
  const isAdvice = isDelicate(plain) && ADVICE.test(plain)
  if (isAdvice && !WRITING.test(plain)) return 'advice'
  return OUTSIDE.some((pattern) => pattern.test(plain)) &&
    !/\b(?:poem|haiku|story|essay|explain|how (?:do|does|to))\b/.test(plain)
    ? 'outside'
    : undefined
}
