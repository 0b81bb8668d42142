// Requests for stories. In: a sentence. Out: the words that the story must contain.
import { expect, test } from 'vitest'
import { askedWords, formsOf, stemOf } from './asked-words.ts'

test.each([
  ['Tell me a story about a brave little mouse.', 'brave mouse'],
  [
    'Please tell me a story about a girl named Mia who finds a red kite in the park.',
    'girl Mia red kite park',
  ],
  ['I would like a story about a dragon who is afraid of the dark.', 'dragon dark'],
  ['Can you tell me a story with a fox, a hat and a river?', 'fox hat river'],
  ['I want to hear about a boy called Sam who lost his shoe.', 'boy Sam shoe'],
  ['A story about a frog who could not jump, please.', 'frog jump'],
  ['Write a short story about two friends and a snowman.', 'friends snowman'],
  ['A tale of pirates, dragons and gold', 'pirates dragons gold'],
  ['I want a story where a trophy, a harbor and a reindeer play a part.', 'trophy harbor reindeer'],
  ['I need a good laugh, tell me a story about a silly king.', 'laugh silly king'],
  ['Tell me a scary story.', 'scary'],
  ['TELL ME A STORY ABOUT A FOX', 'fox'],
  ['a story about my dog Rex and my dog Rex', 'dog Rex'],
])('%s', (request, words) => {
  expect(askedWords(request).join(' ')).toBe(words)
})

test.each([
  'TELL ME A STORY',
  'Tell me another story, please!',
  'What is a fox?',
  'Write a mail to my aunt.',
  'Write a poem about spring.',
  'Erzähle mir eine Geschichte über einen Fuchs.',
  '',
])('nothing is asked for in: %s', (request) => {
  expect(askedWords(request)).toEqual([])
})

test('a long request is limited to six words', () => {
  const animals = 'fox bear cat dog owl pig hen cow'.split(' ')
  expect(askedWords(`A story about ${animals.map((animal) => `a ${animal}`).join(', ')}`)).toEqual(
    animals.slice(0, 6),
  )
})

test.each([
  ['friends', 'friend'],
  ['puppies', 'pupp'],
  ['puppy', 'pupp'],
  ['princess', 'princess'],
  ['bus', 'bus'],
])('the forms of %s begin with %s', (word, stem) => {
  expect(stemOf(word)).toBe(stem)
})

test.each([
  ['friends', 'friends friend'],
  ['puppies', 'puppies puppy'],
  ['princess', 'princess'],
  ['walrus', 'walrus'],
  ['fox', 'fox'],
])('%s can be mentioned as %s', (word, forms) => {
  expect(formsOf(word).join(' ')).toBe(forms)
})
