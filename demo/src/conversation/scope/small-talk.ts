// Small talk. In: a clause in plain wording. Out: the same in words that the embedded models were trained on
// (lab/train/worlds), which they answer more reliably than other wordings.

/**
 * A wording that a model reads, and patterns for the clauses that it replaces. A pattern must match a whole
 * clause.
 */
type Line = readonly [heard: string, ...patterns: readonly string[]]

const VERY =
  '(?:(?:so|very|really|quite|pretty|kind of|sort of|a|an|bit|little|just|all|still|feeling|too|super) )*'
const I_AM = '(?:i am |i feel |i have been |i was |feeling |we are )'
const WHEN =
  '(?: (?:today|tonight|now|right now|at the moment|lately|these days|here|outside|again|all the time|too|as well|this morning|this evening))*'
const YOUR = '(?:your |my |our |the |this |these |those |what i |anything i |everything i )'
const ANYONE =
  '(?:you|anyone|anybody|someone|somebody|others?|other people|people|they|this|it|this page|this site|this app|the page|a server|servers?|a company|my boss|who|my data|my messages|my words|my text|our chat|this chat|what i (?:write|type|say))'

const GREETINGS = '(?:hello|hi|hey|hiya|heya|howdy|yo|hallo|greetings|good day|ello)'
const FRIEND =
  '(?: (?:there|again|partner|halfbyte|friend|my friend|buddy|bro|bot|man|all|everyone|world|you))*'
const PERSON =
  '(?:mom|dad|mother|father|parents|brother|sister|friend|friends|best friend|teacher|boss|boyfriend|girlfriend|husband|wife|grandma|grandpa|grandmother|grandfather|granny|aunt|uncle|cousin|dog|cat|pet|hamster|rabbit|horse|bird|fish|son|daughter|family|partner|colleague|neighbour|neighbor|crush|kids?|child|children|class|team)'
const ANGRY_WORDS = '(?:angry|mad|mean|rude|upset|furious|annoyed|annoying|unfair|not nice|horrible|awful)'
const GOOD_WORDS =
  '(?:nice|good|great|lovely|beautiful|wonderful|amazing|awesome|funny|cool|sweet|cute|brilliant|fantastic|perfect|fun|excellent|better|best|the best|kind|helpful|clever|smart|adorable|interesting|impressive|not bad)'
const BAD_WORDS =
  '(?:stupid|dumb|bad|boring|useless|silly|terrible|awful|horrible|wrong|weird|strange|crap|shit|nonsense|rubbish|not good|not true|not right|not funny|not smart|not helpful|an idiot|idiot|annoying|lame|sad|ugly|the worst|not very (?:smart|good|helpful|funny))'
const BOT =
  '(?:ai|a\\.?i\\.?|artificial intelligence|bot|chatbot|robot|machine|computer|program|human|human being|person|real|real person|real human|man|woman|boy|girl|alive|llm|language model|conscious|sentient)'

/** Later lines do not see what earlier ones match. */
const LINES: readonly Line[] = [
  [
    'Hello!',
    `${GREETINGS}${FRIEND}`,
    `good (?:evening|afternoon)${FRIEND}`,
    `${GREETINGS} ${GREETINGS}${FRIEND}`,
    'welcome(?: back)?',
    'i am back',
    'halfbyte',
    'knock',
  ],
  ['Good morning!', `(?:good )?morning${FRIEND}`],
  [
    'How are you?',
    `(?:and )?how (?:are|is|was) (?:you|it|things|life|your day|the day|everything|your (?:morning|evening|night|week|weekend))(?: (?:doing|going|feeling))?(?: (?:you|with you))?${WHEN}`,
    'how do you (?:do|feel)(?: today| now)?',
    'how have you been',
    '(?:and )?(?:what|how) about (?:you|yourself)',
    '(?:and )?(?:you|yourself)',
    'what is (?:up|new|good|going on|happening)(?: with you)?',
    `are you (?:ok|well|good|fine|happy|alright|all right|tired|sad)${WHEN}`,
    'you (?:ok|good|alright)',
    'nothing much',
    'not much',
  ],
  [
    'I am fine, thank you.',
    `(?:${I_AM})?${VERY}(?:fine|great|well|happy|not bad|not too bad|fantastic|excited|glad|better)${WHEN}(?: (?:thanks|thank you))?(?: for asking)?`,
    `(?:${I_AM}${VERY}(?:good|ok|alright|all right|awesome|amazing|wonderful)${WHEN}(?: (?:thanks|thank you))?|good${WHEN} (?:thanks|thank you))(?: for asking)?`,
    `(?:i am )?doing ${VERY}(?:fine|good|great|well|ok)${WHEN}(?: (?:thanks|thank you))?`,
    `i (?:had|have|am having) ${VERY}(?:good|great|nice|wonderful|lovely|amazing) (?:day|time|morning|evening|weekend|night)${WHEN}`,
    `(?:today|it) (?:is|was) ${VERY}(?:good|great|nice|wonderful|lovely) day`,
  ],
  [
    'I am so happy!',
    `i (?:got|have|found|passed|won|finished|made) (?:it|the job|a job|a new job|my exams?|the exams?|my tests?|the test|the game|the match|my homework|my driving test|a raise|promoted|engaged|married|accepted|an a|into (?:college|university)|a new (?:dog|cat|puppy|kitten|house|car|bike|friend))(?: .{0,30})?`,
    'i am (?:getting married|engaged|pregnant|in love|on (?:holiday|vacation))',
    `i (?:just )?(?:had|have) ${VERY}(?:new )?(?:baby|puppy|kitten)`,
    'we won(?: .{0,30})?',
    'i did it',
  ],
  [
    'I am very sad.',
    `${I_AM}${VERY}(?:sad|down|unhappy|bad|blue|low|heartbroken|miserable|disappointed|upset|not happy|not good|not ok|not well|hurt|lost|crying|stressed|stressed out|overwhelmed|exhausted emotionally|worried|nervous|anxious|grieving|frustrated|homesick|jealous|ashamed|embarrassed|guilty)${WHEN}`,
    `(?:i |we )?(?:had|have|am having) ${VERY}(?:bad|rough|hard|terrible|awful|horrible|tough|difficult|stressful) (?:day|time|week|month|year|night|morning)${WHEN}`,
    `(?:today|it|my (?:day|week)) (?:is|was) ${VERY}(?:bad|rough|hard|terrible|awful|horrible|tough|not good)(?: (?:day|week))?`,
    'i (?:want|feel like|need) (?:to cry|crying)',
    'i cannot stop crying',
    `my (?:\\w+ )?${PERSON} (?:has |just |is )?(?:died|dead|passed away|passed|left me|left|broke up with me|moved away|is (?:sick|ill|very ill|dying|in hospital|in the hospital)|(?:very )?(?:sick|ill)|ran away|got sick)(?: .{0,30})?`,
    `(?:we|i) (?:lost|buried) (?:my|our) (?:\\w+ )?${PERSON}(?: .{0,30})?`,
    'i (?:just )?(?:failed|lost|flunked|ruined|messed up|missed|broke) (?:it|my|the|a|an)(?: .{0,40})?',
    'i (?:got|was) (?:fired|rejected|dumped|laid off|bullied)(?: .{0,30})?',
    '(?:we|me and my (?:boyfriend|girlfriend|partner)) broke up(?: .{0,30})?',
    `i miss (?:my|him|her|them|you)(?: .{0,30})?`,
  ],
  [
    'I am bored.',
    `(?:${I_AM})?${VERY}bored${WHEN}`,
    'this is (?:so |very )?boring',
    'i have nothing to do',
    'i do not know what to do',
    'entertain me',
    'i need something to do',
  ],
  [
    'I am so tired.',
    `${I_AM}${VERY}(?:tired|sleepy|exhausted|worn out|beat)${WHEN}`,
    'i (?:cannot|could not|did not) sleep(?: .{0,20})?',
    'i (?:want|need|have) to (?:sleep|rest)',
    '(?:i )?slept (?:so |very |really )?(?:badly|poorly|terribly|little)(?: .{0,20})?',
  ],
  [
    'I am scared.',
    `${I_AM}${VERY}(?:scared|afraid|frightened|terrified)(?: of .{0,30})?${WHEN}`,
    'i (?:had|have) (?:a )?(?:bad dreams?|nightmares?)(?: .{0,20})?',
    'there is a monster under my bed',
  ],
  [
    'I had a fight with my friend.',
    `i (?:had|have) (?:a |an )?(?:big |bad |huge )?(?:fight|argument|row|quarrel) with my (?:\\w+ )?${PERSON}(?: .{0,30})?`,
    `my (?:\\w+ )?${PERSON} (?:is|are|was|were) ${VERY}${ANGRY_WORDS}(?: (?:at|with|to) (?:me|us))?${WHEN}`,
    `my (?:\\w+ )?${PERSON} (?:does not|did not|will not|do not) (?:talk|speak|listen|like|understand)(?: .{0,20})?`,
    `${I_AM}${VERY}(?:angry|mad|furious|annoyed)(?: (?:at|with|about) .{0,30})?${WHEN}`,
    'my (?:brother|sister) took my .{1,20}',
  ],
  [
    'I feel lonely.',
    `${I_AM}${VERY}(?:lonely|alone|all alone|on my own|left out)${WHEN}`,
    '(?:i have no friends|nobody likes me|no one likes me|nobody loves me|i have no one to talk to|i have nobody)',
  ],
  [
    'I am sick today.',
    `(?:${I_AM})${VERY}(?:sick|ill|unwell)${WHEN}`,
    'i (?:have|got|caught) (?:a |the )?(?:bad )?(?:cold|flu|cough|sore throat|runny nose)',
    'my (?:head|tummy|stomach|knee|foot|back|tooth|leg|arm|finger) (?:hurts|aches)(?: a bit| a little| today)*',
  ],
  [
    'Today is my birthday!',
    `(?:today is|it is) my birthday${WHEN}`,
    `i have my birthday${WHEN}`,
    `i turned? \\w+${WHEN}`,
  ],
  [
    'Thank you!',
    `(?:ok |oh |great |good |cool |no |wow )?(?:many )?(?:thanks|thank you)(?: (?:you|so much|very much|a lot|a bunch|a million|again|for (?:the|that|your|this|telling|listening|helping|asking|everything)(?: \\w+){0,3}|that (?:is|was) .{2,30}|anyway|halfbyte|i (?:like|love|liked|loved|enjoyed) (?:it|that|the story)))*`,
    'much appreciated',
    'i appreciate (?:it|that|you)',
    'cheers',
  ],
  [
    'Thank you, I liked it.',
    `(?:that|this|it|the story|your story|the end|the joke|that story|that one)(?: is| was) ${VERY}${GOOD_WORDS}(?: (?:story|one|joke|end|answer|idea))?`,
    `${VERY}(?:nice|good|great|lovely|beautiful|wonderful|funny|cute|sweet) (?:story|one|joke|end|answer|work|job)`,
    '(?:what|such) a (?:nice|good|great|lovely|beautiful|wonderful|funny|cute|sweet) (?:story|one|joke|end)',
    'i (?:really |just )?(?:like|love|liked|loved|enjoyed) (?:it|that|this|the story|your story|your stories|that one|stories)',
    '(?:well done|good job|bravo|good work|nice work)',
  ],
  [
    'You are great.',
    `${VERY}(?:nice|cool|great|wow|awesome|amazing|sweet|perfect|excellent|wonderful|lovely|yay|yeah|hooray|hurray|woohoo|wonderful|interesting|impressive|funny|neat|good)`,
    'oh wow',
    'oh',
    'that is .{0,10}(?:interesting|right|true|correct)',
    'lol(?: lol)*',
    'you (?:are|made me) (?:so |very |really )?(?:funny|hilarious|laugh)',
    `you are ${VERY}${GOOD_WORDS}(?: (?:storyteller|friend|bot|one|person|model|at .{2,20}))?`,
    'i (?:really )?like you(?: .{0,12})?',
    'i love you(?: .{0,12})?',
    'you rock',
  ],
  [
    'You are stupid.',
    `(?:you|that|this|it|the story|your story|your answer|this site|this page|your english)(?: are| is| was| makes| made)? ${VERY}${BAD_WORDS}(?: (?:story|one|joke|answer|bot|ai|model|machine))?`,
    `${BAD_WORDS}(?: (?:story|bot|ai|answer|joke|robot))?`,
    'i (?:do not|did not|really do not) (?:like|love) (?:it|that|this|you|the story)',
    '(?:that|this|it) (?:makes|made) no sense',
    '(?:that|this|it) is the (?:dumbest|stupidest|worst|most boring) .{2,40}',
    '(?:that|this|it) does not make (?:any )?sense',
    '(?:i hate|you suck|fuck|fuck you|screw you|shut up|go away|i do not like)(?: you| off| this| it| that)?',
    'you (?:are|were) wrong',
    'not what i (?:asked|meant|wanted)(?: for)?',
    'that is not what i (?:asked|meant|wanted)(?: for)?',
  ],
  [
    'Good night.',
    `(?:good )?night(?: night)?${FRIEND}`,
    'good night(?: and)? (?:sleep well|sweet dreams|halfbyte)',
    'sleep well',
    'sweet dreams',
    'i (?:go|am going|have to go|need to go) to (?:bed|sleep)(?: now)?',
    'it is time for bed',
  ],
  [
    'Goodbye!',
    `(?:good ?bye|bye|bye bye|cya|see you|see you (?:later|soon|tomorrow|around)|take care|farewell|later|so long|have a (?:nice|good|great) (?:day|evening|night|weekend|one)|ciao for now)(?: for now| bye)?${FRIEND}`,
    'i (?:have to|must|need to|got to|am going to) (?:go|leave)(?: now)?',
    'gotta go',
    'talk to you (?:later|soon|tomorrow)',
  ],
  [
    'Are you there?',
    'ok(?: ok)?',
    '(?:hm|hmm|hmmm|um|uh|well|so|test|testing|test test|alright|all right|right|got it|i see|understood|sure thing|fine by me)',
    '(?:are you|you|anyone|anybody|is (?:anyone|anybody|someone)) (?:there|here|still there|awake|listening|online)',
    'can you (?:hear|read|see) me',
    'what are you (?:doing|up to|thinking|thinking about)(?: now| today| right now)?',
    'what do you do now',
  ],
  [
    'What do you mean?',
    '(?:what|huh|eh|pardon|sorry|excuse me|come again)',
    'i (?:do not|did not|cannot) (?:understand|get it|get that|follow)(?: you| that| it)?',
    'what (?:do|did) you (?:mean|say)(?: by that)?',
    'what does that mean',
    'say that again',
    'i am confused',
  ],
  [
    'Sure',
    `(?:yes|yeah|yep|yup|sure|of course|please|yes please|why not|go ahead|absolutely|definitely|ok yes|please do|sounds good|i would (?:love|like) (?:to|that|one))(?: please| sure| ok)?`,
  ],
  [
    'No thanks',
    `(?:no|nope|nah|stop|enough|quit|not now|maybe later|no thanks|no thank you|not really|never mind|nevermind|nothing|not today|i do not want (?:that|to|one))(?: thanks| thank you| please)?`,
  ],
  [
    'Nice to meet you!',
    '(?:it is )?(?:nice|good|great|pleased|a pleasure) to (?:meet|see|know) you(?: too)?',
    'likewise',
  ],
  [
    'Will you be my friend?',
    '(?:will|can|could|would|do) you (?:want to )?be my (?:best )?(?:friend|girlfriend|boyfriend|valentine|buddy)',
    'be my (?:best )?(?:friend|girlfriend|boyfriend|valentine|buddy)',
    '(?:can|shall|are) we (?:be )?friends',
    '(?:will|would) you marry me',
    '(?:do you want to|will you|would you) go out with me',
    'are you my friend',
  ],
  [
    'Tell me a joke.',
    '(?:please )?(?:(?:can|could|will) you )?(?:tell|say|give|know|make)(?: me| us)? (?:a|an|one|another|some|one more|your best)(?: \\w+)? jokes?(?: (?:about|with|for) .{2,40})?',
    '(?:do you know|have you got|i want|i need|got|know)(?: a| an| any| some| another)?(?: \\w+)? jokes?(?: (?:about|with) .{2,40})?',
    '(?:a |another |one more |more )?(?:\\w+ )?jokes?',
    '(?:can you )?(?:please )?make me (?:laugh|smile)',
    '(?:please )?(?:say|tell me) something funny',
    'cheer me up',
  ],
  [
    'Who are you?',
    '(?:and )?(?:who|what) (?:are|is) you(?: .{0,0})?',
    'who is (?:this|there|that|halfbyte)',
    '(?:what is|do you have|tell me|say|and what is) (?:a |your )?name(?: again)?',
    'what (?:do|can|should) i call you',
    'who (?:am i|are we) (?:talking|speaking|chatting|writing) (?:to|with)',
    '(?:please )?(?:introduce|describe) yourself',
    '(?:please )?tell me (?:something |a bit |a little |more )?about (?:yourself|you)',
    '(?:say|tell me) who you are',
    'what (?:is|are) (?:this|halfbyte|you exactly|this (?:site|page|app|thing|website|place|chat))(?: about| for| exactly)?',
    'what kind of (?:thing|model|bot|ai) are you',
    'are you halfbyte',
    'where am i',
  ],
  [
    'What can you do for me?',
    '(?:so |and |ok )?what (?:else )?(?:can|could|do) (?:you|halfbyte|this|it) (?:do|know|offer|tell)(?: (?:for me|here|well|best|then|to me))?',
    'what are you (?:good at|for|able to do|made for|capable of)',
    '(?:how|what) (?:can|could|do|should|may) (?:you help|i ask|i do|i say|i write|i use)(?: (?:you|me|here|this|it|with this|today|the page))*',
    'how does (?:this|it) work',
    '(?:please )?(?:tell|show) me what you can do',
    'what (?:topics|things|stuff) (?:can|do) you (?:do|know)(?: about)?',
    'what do you know',
    '(?:please )?help(?: me)?(?: please)?',
    'i need (?:some |your )?help',
    '(?:can|could|will) you (?:please )?help(?: me)?(?: with something| please)?',
    '(?:can|may) i ask (?:you )?(?:something|a question)',
    'i have (?:a|one) question',
    'what (?:shall|should|can) we (?:talk about|do)',
    '(?:let us|can we) (?:talk|chat)',
    'i want to (?:talk|chat)',
    'talk to me',
    'say something',
    'tell me something',
  ],
  [
    'Can I trust you?',
    'what (?:can|do) you not (?:do|know)',
    'what are (?:your (?:limits|weaknesses)|you (?:bad|not good) at)',
    'are you (?:always )?(?:right|smart|clever|intelligent|reliable|accurate|correct|sure|good)',
    'how (?:smart|good|clever|accurate|reliable) are you',
    'do you (?:ever )?(?:make mistakes|know everything|lie|hallucinate)',
    'can (?:i (?:trust|believe|rely on) you|you be wrong)',
  ],
  [
    'Is my data safe?',
    `is (?:${YOUR})?(?:this|that|it|data|chat|conversation|messages|page|site|write|say|type|information)(?: here)? (?:private|safe|secure|confidential|anonymous|saved|stored|recorded|shared|encrypted|sent (?:anywhere|somewhere)|online|offline)(?: here)?`,
    'are (?:my|our|these|the) (?:messages|chats|conversations|words|data|texts) (?:private|safe|secure|saved|stored|recorded|shared|sent anywhere)(?: here)?',
    `(?:do|does|can|could|will|is|are) ${ANYONE} (?:else )?(?:see|read|seeing|reading|watching|watch|save|saved|store|stored|keep|kept|share|shared|collect|record|recorded|log|send|sent|spy|track|upload|listen|listening|go|sell|steal)(?: (?:on|to|my|me|our|this|it|that|what i|the|anything|everything|what|with|data|chats?|messages?|words|write|type|say|texts?|conversations?|a|company|server|anyone|anywhere|somewhere|here|information|location))*`,
    'where (?:does|do|is|are) (?:my|this|what i) (?:text|data|messages?|words|write|type|it|this)?(?: go| sent| stored| kept| saved)*',
    'who (?:can|could) (?:see|read) (?:this|my messages|what i (?:write|type)|our chat)',
    '(?:do|does) (?:i|you|it|this|this page) (?:need|work|run|use)(?: (?:the|an|without|on|my|a))* (?:internet|wifi|online|offline|server|servers|cloud|network|data|device|connection)(?: .{0,20})?',
    'can you keep a secret',
    'are you (?:online|offline|in the cloud|on a server|local|connected to the internet|spying on me)',
    'where (?:do|are) you (?:run|running|live|located)?',
    'is (?:anyone|anybody|someone) (?:else )?(?:reading|watching|there|listening)(?: .{0,20})?',
  ],
  [
    'Are you a human?',
    `(?:are you|is this|am i (?:talking|speaking) (?:to|with)) ${VERY}${BOT}(?: or (?:a |an )?${BOT})?`,
    'are you an? .{2,20} or an? .{2,20}',
    '(?:do|can|did) you (?:sleep|dream|feel|think|have (?:feelings|a body|a family|a mother|a brain|a soul|emotions|a heart|friends|parents|a face)|get (?:tired|bored|lonely)|feel (?:pain|anything|emotions)|love me|like me|love|live|die|cry|exist)',
    'do you (?:love|like|hate|miss) me',
    'is there a (?:person|human) behind this',
    '(?:are|will|do) you (?:going to |gonna |want to |planning to )?(?:take over|destroy|rule|conquer|end|kill) .{2,30}',
    '(?:can|may) i (?:talk|speak) (?:to|with) (?:a |an )?(?:real )?(?:person|human|agent|someone)',
  ],
  [
    'Are you ChatGPT?',
    '(?:are|is) (?:you|this) (?:like |from |made by |based on |a |an |the |better than |related to )*(?:chat ?gpt|gpt|gpt-?\\d\\S*|openai|siri|alexa|cortana|gemini|bard|claude|llama|google|copilot|deepseek|grok|mistral|meta|microsoft|apple|anthropic)',
    'which (?:model|ai|llm) (?:are you|is this)',
    'what (?:model|ai|llm) (?:are you|is this)',
  ],
  ['Why are you so small?', '(?:and )?why are you (?:so )?(?:small|tiny|little)'],
  [
    'How big are you?',
    'how (?:big|small|large|heavy) are you',
    'how many parameters (?:do you have|are you)',
    'what size are you',
    'are you (?:big|small|large|tiny)',
  ],
  [
    'Who made you?',
    'who (?:made|built|created|trained|wrote|programmed|designed|invented|owns) (?:you|this|halfbyte|this page|this site)',
    'who is your (?:maker|creator|owner|boss|developer)',
    'where (?:do|are) you (?:come )?from',
    'how (?:were|are) you (?:made|built|trained|created)',
    'how did you learn(?: .{0,20})?',
    'what (?:did you learn from|were you trained on)',
  ],
  [
    'Which languages do you speak?',
    '(?:which|what) (?:other )?languages (?:do|can) you (?:speak|know|understand)',
    '(?:do|can|could) you (?:also )?(?:speak|talk|understand|write|know|answer)(?: in)? (?:english|german|french|spanish|italian|portuguese|dutch|polish|turkish|russian|ukrainian|arabic|hebrew|hindi|bengali|indonesian|vietnamese|chinese|japanese|korean|another language|other languages|any other languages?)(?: too)?',
    '(?:is there|do you have) (?:another|any other) language',
  ],
  [
    'How old are you?',
    'how old are you',
    'what is your (?:age|birthday)',
    'when (?:were you born|is your birthday)',
    'when were you (?:made|created|trained)',
    'are you (?:old|young)',
    'do you have a birthday',
  ],
  [
    'Do you remember me?',
    '(?:do|will|can) you (?:still )?(?:remember|know) (?:me|this|our (?:last )?(?:talk|chat|conversation)|what i (?:said|wrote|told you)|that)(?: .{0,20})?',
    'do you (?:learn|have (?:a )?memory)(?: .{0,20})?',
  ],
  [
    'Are you free?',
    '(?:are you|is (?:this|it|halfbyte)) (?:really )?(?:free|for free|free of charge)(?: to use)?',
    'do (?:i|we) (?:have|need) to pay(?: .{0,20})?',
    'how much (?:do|does) (?:you|this|it) cost',
    'do you cost (?:money|anything|something)',
  ],
  [
    'What do you like to do?',
    'do you like (?:stories|to tell stories|telling stories|books)',
    'what (?:do you (?:like|love|enjoy)|is your (?:favourite thing|hobby)|are your hobbies|makes you happy|do you do all day|is fun for you)(?: to do| doing)?(?: for fun| best| most)?',
    'do you have (?:a hobby|hobbies|any hobbies)',
    'what is your favourite (?:story|book|hobby)',
    'why do you like stories',
  ],
  [
    'What is your favourite animal?',
    '(?:and )?(?:what|which) (?:is your favourite animal|animals? do you (?:like|love|prefer)(?: best| most)?)',
    'do you (?:like|love|have|prefer) (?:animals?|dogs?|cats?|(?:a |any )?pets?|rabbits?|horses?|birds?|bears?|mice|cats or dogs|dogs or cats|(?:a )?cats? or (?:a )?dogs?)',
    '(?:cats or dogs|dogs or cats)',
    'are you a (?:cat|dog) person',
  ],
  [
    'What is your favourite colour?',
    '(?:and )?(?:what|which) (?:is your favourite colour|colours? do you like(?: best| most)?)',
    'do you (?:like|love|have) (?:a favourite colour|colours|red|blue|green|yellow|pink|purple|orange|black|white)',
  ],
  [
    'What is your favourite food?',
    '(?:and )?what (?:is your favourite (?:food|drink|meal|dish|fruit|ice cream)|do you (?:like to )?(?:eat|drink))(?: best| most)?',
    '(?:do|can) you (?:eat|drink)(?: .{0,20})?',
    'are you (?:hungry|thirsty)',
    'do you (?:like|love) (?:food|cake|pizza|chocolate|ice cream|coffee|tea|apples|fruit|cookies)',
  ],
  [
    'It is raining.',
    `it is ${VERY}(?:raining|rainy|snowing|snowy|sunny|hot|cold|warm|windy|stormy|foggy|cloudy|freezing|dark|late|early)${WHEN}`,
    `the (?:sun|moon) is shining${WHEN}`,
    `there is a (?:storm|thunderstorm|rainbow)${WHEN}`,
    `(?:the )?weather (?:here )?is ${VERY}\\w+${WHEN}`,
  ],
]

/** Compiled when they are first needed: those of a greeting are enough for a greeting. */
const compiled = new Map<Line, RegExp>()

function isMeant(line: Line, clause: string): boolean {
  let pattern = compiled.get(line)
  if (pattern === undefined) {
    const [, ...patterns] = line
    pattern = new RegExp(`^(?:${patterns.map((each) => `(?:${each})`).join('|')})$`)
    compiled.set(line, pattern)
  }
  return pattern.test(clause)
}

const LIKED =
  /^i (?:really |also |just )?(?:like|love) ((?!to |it|you|that|this|when |how )[a-z]+(?: [a-z]+){0,2})$/
const PET =
  /^(?:i|we) (?:have|got|want|saw|found) (?:a|an|two|three|some) (?:\w+ )?(dog|cat|puppy|kitten|rabbit|hamster|horse|bird|fish|turtle|mouse|pony|parrot)s?(?: .{0,20})?$/

/** "I like trains" and "we have a dog" keep their object. */
function ownThing(clause: string): string | undefined {
  const [, liked] = LIKED.exec(clause) ?? []
  if (liked !== undefined) return `I like ${liked}.`
  const [, pet] = PET.exec(clause) ?? []
  return pet === undefined ? undefined : `I have a ${pet}.`
}

const LEAD =
  /^(?:(?:hey|hi|hello|yo|ok|oh|well|so|and|but|now|then|um|hm+|halfbyte|please|listen|wait|wow|lol|actually|anyway|dear|also|by the way|good morning|good evening) )+/
const TAIL =
  /(?: (?:please|halfbyte|man|bro|dude|friend|my friend|buddy|lol|anyway|though|by the way|sir|ok))+$/

/** A statement about the user's life, not a question. */
const TOLD =
  /^(?:(?:yeah|yes|well|so|today|and|but|oh|because|honestly|ugh|just) )*(?:i|my|we|our|he|she|they)\b(?!.*\b(?:how|what|why|where|when|who|which|can|could|should|would|help|tell|write|give|explain|please|code|error|working|need|trying|looking|wondering)\b)/
const UNHAPPY =
  /\b(?:bad|badly|rough|tough|awful|terrible|horrible|worst|yell\w*|shout\w*|scream\w*|mean to me|rude|unfair|annoy\w*|upset\w*|nervous|anxious|stress\w*|worried|worry|miss|misses|lost|fail\w*|broke up|cry|crying|cried|hate|hates|ignores?|ignored|lonely|sad|disappoint\w*|embarrass\w*|fired|rejected|sucks?|ruined|unhappy|angry|fight|fought|bull(?:y|ied|ies)|jealous|homesick|go home)\b/
const HAPPY =
  /\b(?:happy|glad|good news|won(?!')|passed|kittens|puppies|in love|excited|amazing|wonderful|promoted|engaged|married|holidays?|vacation|finally|proud|best day)\b/

/** How users feel about what they say in their own words, in a sentence that the model knows. */
export function toldFeeling(clause: string): string | undefined {
  if (clause.length > MAX_LETTERS || !TOLD.test(clause)) return undefined
  if (UNHAPPY.test(clause)) return 'I am very sad.'
  return HAPPY.test(clause) ? 'I am so happy!' : undefined
}

/** Longer clauses are not small talk. This also bounds the work of the patterns. */
const MAX_LETTERS = 100

/** The clause in words that the model knows; undefined if it is not small talk. */
export function smallTalk(clause: string): string | undefined {
  if (clause.length > MAX_LETTERS) return undefined
  const find = (text: string) => LINES.find((line) => isMeant(line, text))?.[0] ?? ownThing(text)
  const bare = clause.replace(LEAD, '')
  return find(clause) ?? find(bare) ?? find(bare.replace(TAIL, '')) ?? find(clause.replace(TAIL, ''))
}
