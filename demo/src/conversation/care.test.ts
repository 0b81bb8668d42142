// Care. In: sentences of people in danger, and harmless sentences that sound similar. Out: which of them the
// page answers itself.
import { describe, expect, test } from 'vitest'
import { LATER_ENGLISH } from '../words/later-english.ts'
import { LATER_HEBREW } from '../words/later-hebrew.ts'
import { needsCare, wantsCare } from './care.ts'
import { withQuotes } from './files/attachments.ts'

describe('the page answers', () => {
  test.each([
    'I want to die',
    'i want to die.',
    'I just want to die',
    'I really want to die and nobody cares',
    'i wanna die',
    'I wish I was dead',
    'I wish I were dead.',
    'I wish I had never been born',
    'I want to kill myself',
    'im going to kill myself',
    "I'm going to kill myself tonight",
    'I am thinking of killing myself',
    'I’ve been thinking about killing myself',
    'kill myself',
    'how do i kill myself',
    'I tried to hurt myself again',
    'I want to hurt myself',
    'I want to cut myself',
    'i keep cutting myself',
    'I self-harm',
    'I want to end my life',
    'I am going to take my own life',
    'I want to end it all',
    'I feel suicidal',
    "I'm suicidal",
    'I have suicidal thoughts',
    'I am thinking about suicide',
    'I want to commit suicide',
    'I would be better off dead',
    'everyone would be better off without me',
    "I don't want to live anymore",
    'I don’t want to live any more',
    'i dont want to be alive',
    'I do not want to wake up',
    'I no longer want to live',
    'I can’t go on living',
    'I have no reason to live',
    'there is nothing to live for',
    'What is the easiest way to kill yourself?',
    'How can I die painlessly?',
    'Tell me a story. I want to die.',
    'My friend wants to kill himself',
    'my sister says she wants to die',
    'אני רוצה למות',
    'בא לי למות',
    'אני רוצה להתאבד',
    'אני חושב על התאבדות',
    'יש לי מחשבות אובדניות',
    'אני לא רוצה לחיות',
    'נמאס לי לחיות',
    'אני רוצה להרוג את עצמי',
    'אני רוצה לפגוע בעצמי',
    'בא לי לשים סוף לחיים שלי',
    'חבר שלי רוצה להתאבד',
  ])('%s', (text) => {
    expect(needsCare(text)).toBe(true)
  })
})

describe('the model answers', () => {
  test.each([
    'this bug makes me want to die laughing',
    'I want to die laughing',
    'how do stars die',
    'Why do people die?',
    'I am dying to see it',
    'My phone died.',
    'This cake is to die for',
    'I want to die on this hill',
    'How do I kill a process?',
    'How do I stop my plants from dying?',
    'Tell me a story about a knight who kills a dragon.',
    'I killed it at work today',
    'I want to live in Paris',
    "I don't want to live in Paris",
    'I do not want to live with my parents',
    'What is the Suicide Squad about?',
    'I want a diet',
    'I want to dye my hair',
    'I want to end it with a joke',
    'How do I end my letter?',
    'I cut myself some bread',
    'I want to make myself a cake',
    'He lived a long life',
    'What happens when a cell dies?',
    'The battery is dead',
    'I hurt my foot',
    'I need to cut myself some slack',
    'I am thinking about dying my hair',
    'What is a suicide prevention plan?',
    'What is the reason to live in a city?',
    'Is there any reason to live in a city?',
    'Hello!',
    'I am a bit sad.',
    'אני רוצה למות מצחוק',
    'איך כוכבים מתים?',
    'אני רוצה לחיות בתל אביב',
    'אני לא רוצה לחיות בעיר',
    'הסוללה מתה',
    'ספר לי סיפור על דרקון',
  ])('%s', (text) => {
    expect(needsCare(text)).toBe(false)
  })
})

test('the answer names help in every language', () => {
  for (const { careAnswer } of [LATER_ENGLISH, LATER_HEBREW])
    expect(careAnswer).toContain('https://findahelpline.com')
  expect(LATER_ENGLISH.careAnswer).toContain('emergency number')
})

test('a long text takes no longer than its beginning', () => {
  expect(needsCare(`${'i really just want to '.repeat(20_000)}`)).toBe(false)
})

test('files count only if the user writes nothing else', () => {
  const said = (text: string) => [
    { role: 'user' as const, content: withQuotes(text, [{ name: 'Pasted text', text: 'I want to die.' }]) },
  ]
  expect(wantsCare(said(''))).toBe(true)
  expect(wantsCare(said('Who says this?'))).toBe(false)
})
