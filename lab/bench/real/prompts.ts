// The prompts for both engines: twenty conversations and ten texts to continue.
import type { ChatMessage } from '../../../src/core/text/chat/chat-template.ts'

const asked = (content: string): readonly ChatMessage[] => [{ role: 'user', content }]

export const CHATS: readonly (readonly ChatMessage[])[] = [
  ...[
    'What is the capital of France?',
    'Write one sentence about the sea.',
    'List three fruits.',
    'Explain in one sentence why the sky is blue.',
    'Translate "good morning" into Spanish.',
    'Write a Python function that adds two numbers.',
    'What is 17 plus 25? Think step by step.',
    'Who wrote Romeo and Juliet, and when?',
    'Give me a short recipe for pancakes.',
    'Warum ist der Himmel blau?',
    '请用一句话介绍北京。',
    'Écris un haïku sur l’automne 🍂.',
    'Return a JSON object with the keys "name" and "age".',
    'Write a haiku about a cat.\n\nUse three lines.',
    'Fix the grammar: "she go to school yesterday"',
    'What does `SELECT * FROM users WHERE id = 1;` do?',
  ].map(asked),
  [{ role: 'system', content: 'You answer like a pirate.' }, ...asked('How do I boil an egg?')],
  [
    ...asked('My name is Ada.'),
    { role: 'assistant', content: 'Nice to meet you, Ada!' },
    ...asked('What is my name?'),
  ],
  [
    { role: 'system', content: 'You are a terse assistant.' },
    ...asked('Name a colour.'),
    { role: 'assistant', content: 'Blue.' },
    ...asked('Another one.'),
  ],
  asked(
    'Summarise: The quick brown fox jumps over the lazy dog. The dog does not mind. It sleeps in the sun all day, and the fox comes back every evening to play.',
  ),
]

export const TEXTS: readonly string[] = [
  'The history of the city begins in the year',
  'Once upon a time, there was a small village by the river where',
  'def fibonacci(n):\n    """Returns the n-th Fibonacci number."""\n',
  '<!DOCTYPE html>\n<html>\n  <head>\n    <title>',
  'The three laws of thermodynamics are:\n\n1.',
  'Der schnellste Weg, eine neue Sprache zu lernen, ist',
  '1, 1, 2, 3, 5, 8, 13,',
  'Dear Sir or Madam,\n\nI am writing to',
  'Q: What is the largest planet?\nA:',
  '    for (let i = 0; i < 10; i++) {\n\t\tconsole.log("café — 👍", i)\n',
]
