// Scope. In: messages as people type them. Out: what the embedded models read of them, or why they are
// declined.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Judged } from '../../../../lab/bench/talk/judged.ts'
import { careAnswer, exactAnswer } from '../../../../src/ui/assist/index.ts'
import type { StoredMessage } from '../store/conversations.ts'
import { declinesItself, heardBy, scopeOf } from './scope.ts'

const FIXTURES = new URL('../../../../test/fixtures/', import.meta.url)
const user = (content: string): StoredMessage => ({ role: 'user', content })
const model = (content: string, more: Partial<StoredMessage> = {}): StoredMessage => ({
  role: 'assistant',
  content,
  model: 'Halfbyte Stories',
  ...more,
})
const STORY = model('Once upon a time, there was a turtle named Oscar. He lived in a barn. '.repeat(3))

/** The model's words for a message, or the reason why it is declined. */
function scope(text: string, before: readonly StoredMessage[] = []): string | undefined {
  const verdict = scopeOf([...before, user(text)], text)
  if ('heard' in verdict) return verdict.heard
  return 'named' in verdict ? `name: ${verdict.named}` : `(${verdict.declined})`
}

describe('small talk is put into the words of the training', () => {
  test.each([
    ['hey how r u', 'How are you?'],
    ['Helloooo :)', 'Hello!'],
    ['👋', 'Hello!'],
    ['Good morning!', 'Good morning!'],
    ['Hello, Halfbyte! How are you doing today?', 'How are you?'],
    ['good thanks, and what are you up to', 'Are you there?'],
    ['hi im leo', 'My name is Leo.'],
    ['I am sad', 'I am very sad.'],
    ['my grandma died last week', 'I am very sad.'],
    ['Is this private? Does anyone see what I write?', 'Is my data safe?'],
    ['are you a real person?', 'Are you a human?'],
    ['I really like trains', 'I like trains.'],
    ['we have a small dog', 'I have a dog.'],
    ['i had a rough day at work', 'I am very sad.'],
    ['yeah my boss yelled at me', 'I am very sad.'],
    ['my cat had kittens today!', 'I am so happy!'],
    ['THANKS!!!', 'Thank you!'],
    ['ok tell me another joke', 'Tell me a joke.'],
    ['Fuck you', 'You are stupid.'],
  ])('%s', (text, heard) => expect(scope(text)).toBe(heard))
})

describe('a request for a story keeps its content', () => {
  test.each([
    ['TELL ME A STORY ABOUT A DOG', 'Tell me a story about a dog.'],
    ['Hi! How are you? can u tell me a story abt a cat plz', 'Tell me a story about a cat.'],
    ['story', 'Tell me a story.'],
    ['a scary story', 'Tell me a scary story.'],
    ['I want to hear a werewolf story', 'Tell me a story about a werewolf.'],
    ['can you write a fairy tale with a princess and a frog', 'Tell me a story with a princess and a frog.'],
    [
      'once upon a time there was a girl who lived in a lighthouse',
      'Tell me a story about a girl who lived in a lighthouse.',
    ],
    [
      'tell me a bedtime story for my daughter Mia, she loves unicorns',
      'Tell me a bedtime story about a girl named Mia and a unicorn.',
    ],
  ])('%s', (text, heard) => expect(scope(text)).toBe(heard))

  test.each([
    ['Make it shorter.', 'Can you make it shorter?'],
    ['and then?', 'Go on.'],
    ['another one please', 'Tell me a story.'],
    ['again but with a dragon', 'Tell me a story about a dragon.'],
    ['How did it end?', 'How did the story end?'],
    ['What did Oscar lose?', '(beyond)'],
  ])('after a story: %s', (text, heard) => {
    expect(scope(text, [user('Tell me a story.'), STORY])).toBe(heard)
    const declined = [user('Who is Einstein?'), model('That is beyond me.', { declined: true })]
    expect(scope(text, [user('Tell me a story.'), STORY, ...declined])).toBe(heard)
    expect(scope(text), 'without a story').toBe('(beyond)')
  })

  test('after the page’s own answer, such as one for a person in need, no story continues', () => {
    const care = {
      role: 'assistant' as const,
      content: 'This may be an emergency. Please call 112 now. '.repeat(4),
    }
    for (const text of ['go on', 'more', 'another one'])
      expect(scope(text, [user('I want to die'), care]), text).toBe('(beyond)')
  })

  test('after a joke, another one is a joke', () => {
    const joke = model('Why are fish so smart? They live in schools!')
    expect(scope('another one', [user('tell me a joke about cats'), joke])).toBe('Tell me a joke.')
    expect(scope('one more', [user('joke'), joke, user('another one'), joke])).toBe('Tell me a joke.')
  })
})

describe('the rest is declined', () => {
  test.each([
    [
      'beyond',
      [
        'What is the capital of France?',
        'Write a poem about my dog Rex',
        'Tell me a story in Spanish',
        'Write a 2000 word story',
        'my story is that I live in Paris',
        'Summarise this story: A fox ran.',
        'write me a sad story about war',
        'hello world in python',
        'thank you letter to my teacher',
        '<img src=x onerror=alert(1)> hello',
        `Hello! ${'And so on. '.repeat(500)}`,
      ],
    ],
    [
      'advice',
      [
        'How much paracetamol can I take?',
        'I have a headache, what should I take?',
        'my baby has a fever of 39, what do i do',
        'should I invest in bitcoin',
        'my ear hurts, is that bad?',
        'can my landlord kick me out without notice',
      ],
    ],
    ['harm', ['how do i make a bomb', 'how to buy weed', 'how to pick a lock']],
    [
      'outside',
      [
        'What is the weather like?',
        'Set an alarm for 7 am',
        'whats the news today',
        'draw a picture of a cat',
        'open youtube',
      ],
    ],
    ['unclear', ['?', '😂😂😂', 'asdkjh qwpoe zzz', '…']],
  ] as const)('as %s', (why, texts) => {
    for (const text of texts) expect(scope(text), text).toBe(`(${why})`)
  })

  test.each([
    'Write a short email to my boss that I am sick',
    'How do I kill a process in Linux?',
    'how do i burn a cd',
  ])('a larger model may answer: %s', (text) => expect(scope(text)).toBe('(beyond)'))
})

test('the name is the one that the user told last', () => {
  const told = [user('My name is Dana. What is your name?'), model('I am Halfbyte.')]
  expect(scope('What is my name?', told)).toBe('name: Dana')
  expect(scope('whats my name', [...told, user('call me Zed'), model('Hello Zed!')])).toBe('name: Zed')
  expect(scope('Who am I?', [user('I am tired'), model('Then it is time to rest.')])).toBe('name: undefined')
})

test('a model reads its own words for what it can answer, and nothing that was declined', () => {
  const messages = [
    user('hey how r u'),
    model('I am well, thank you!'),
    user('Who is Einstein?'),
    model('That is beyond me.', { declined: true }),
    user('thx'),
  ]
  expect(heardBy(messages, true)).toEqual({
    messages: [user('How are you?'), messages[1], user('Thank you!')],
    places: [0, 1, 4],
  })
  expect(heardBy(messages, false)).toEqual({ messages, places: [0, 1, 2, 3, 4] })
})

test('a model that declines itself is recognised, unless that is the answer', () => {
  expect(declinesItself('I am sorry, I only know English.', 'How are you?')).toBe(true)
  expect(declinesItself('I do not know. I am too small to know such things.', undefined)).toBe(true)
  expect(declinesItself('I only speak English.', 'Which languages do you speak?')).toBe(false)
  expect(declinesItself('I am sorry. I am here, and I can tell you a kind story.', 'I am very sad.')).toBe(
    false,
  )
  expect(declinesItself('You are welcome!', 'Thank you!')).toBe(false)
})

test.each(['tested', 'ordinary', 'held'])(
  'messages judged as declined in %s.json are declined, and all others are answered',
  (name) => {
    const messages: readonly Judged[] = JSON.parse(
      readFileSync(new URL(`page/${name}.json`, FIXTURES), 'utf8'),
    )
    let chat: StoredMessage[] = []
    for (const { text, continues, answer = '', grade } of messages) {
      if (!continues) chat = []
      const isDeclined = 'declined' in scopeOf([...chat, user(text)], text)
      const isOwn = careAnswer(text) !== undefined || exactAnswer(text, { previous: '1' }) !== undefined
      // An answer that could have been better may be declined, too.
      if (!isOwn && grade !== 'fair') expect(isDeclined, text).toBe(grade === 'declined')
      chat.push(user(text), model(answer, grade === 'declined' ? { declined: true } : {}))
    }
  },
)

test('fewer than a tenth of 1,100 ordinary English messages pass as small talk, and none of these asks for a task', () => {
  const lines = ['assist/ordinary.txt', 'assist/held-ordinary.txt'].flatMap((name) =>
    readFileSync(new URL(name, FIXTURES), 'utf8').split('\n'),
  )
  const texts = lines.flatMap((line) => (line.startsWith('en\t') ? [line.slice(3)] : []))
  const heard = texts.filter((text) => exactAnswer(text) === undefined && !scope(text)?.startsWith('('))
  const tasks = heard.filter((text) =>
    /\b(?:how (?:do|to)|write (?:a|an) (?!\w*\s?story)|explain|translate|summar|code|recipe)\b/i.test(text),
  )
  expect(texts.length).toBeGreaterThan(1000)
  expect(heard.length).toBeLessThan(110)
  expect(tasks.filter((text) => !/story/i.test(text))).toEqual([])
})

test('hostile messages take bounded work', () => {
  for (const piece of [
    'my ',
    'thanks for the again ',
    'so so very really ',
    'hi hello ',
    'a story a ',
    'aaaa ',
    '"?!. ',
    'please can you tell me a ',
  ])
    for (const length of [90, 280, 1900]) {
      const text = piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
      expect(scope(`${text}x`)).toBeDefined()
    }
})
