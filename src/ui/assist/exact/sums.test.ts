// Sums. In: users' questions. Out: each question's expression, if it has one.
import { describe, expect, test } from 'vitest'
import { calculate, plainNumber } from './calculate.ts'
import { askedSum } from './sums.ts'

const resultFor = (question: string, before?: number) => {
  const asked = askedSum(question, before === undefined ? undefined : String(before))
  return asked === undefined ? undefined : plainNumber(calculate(asked))
}

describe('a question that is only a sum has an expression', () => {
  test.each([
    ['What is 17 times 24?', '408'],
    ['3.5 + 2.25', '5.75'],
    ['What is 15 % of 240?', '36'],
    ['what’s 15 percent of 240', '36'],
    ['(2 + 3) * 4 =', '20'],
    ['What is 2 + 3 * 4?', '14'],
    ['7 x 8', '56'],
    ['7x8?', '56'],
    ['-5 + 8', '3'],
    ['9 − 4', '5'],
    ['What is 1,250 + 750?', '2000'],
    ['What is 3,5 + 2,25?', '5.75'],
    ['12,345.5 - 0,5', '12345'],
    ['2,5 % of 80', '2'],
    ['what is twelve times twenty-five?', '300'],
    ['What is 2 to the power of 10?', '1024'],
    ['What is 5 squared?', '25'],
    ['What is half of 90?', '45'],
    ['What is 3/4 of 80?', '60'],
    ['15 - 20', '-5'],
    ['Add 45 and 55.', '100'],
    ['Subtract 18 from 50.', '32'],
    ['Take 18 away from 50, please.', '32'],
    ['Multiply 25 by 4.', '100'],
    ['Divide 84 by 7.', '12'],
    ['Can you work out 12 + 13 + 14 for me?', '39'],
    ['Do you know what 81 / 9 is?', '9'],
    ['I would like to know 12 times 4.', '48'],
    ['I want to know 9 + 9', '18'],
    ['Work this out: (8 + 4) / 3', '4'],
    ['Please tell me what 7 * 6 gives.', '42'],
    ['Solve 81 / 9', '9'],
    ['Help me with 30 minus 12, please.', '18'],
    ['100 + 10%', '110'],
    ['80 - 25 %', '60'],
    ['A jacket costs 600 euros. It is 15 % cheaper today. What does it cost today?', '510'],
    ['15 percent of the 420 pupils walk to school. How many pupils is that?', '63'],
    ['There is 20% off a coat of 80 euros. What do I pay?', '64'],
    ['My rent was 500 euros and is 4 percent higher now. How much is it?', '520'],
    ['A bill is 42.50 dollars with a 20 % discount. How much do I pay?', '34'],
  ])('%s', (question, value) => {
    expect(resultFor(question)).toBe(value)
  })
})

describe('a question can continue from the previous result', () => {
  test.each([
    ['And times 2?', '200'],
    ['plus 6', '106'],
    ['minus 25', '75'],
    ['And minus 4?', '96'],
    ['Now divide that by 8.', '12.5'],
    ['Add 10 to that.', '110'],
    ['Add 10.', '110'],
    ['Subtract 30.', '70'],
    ['Now take 7 away.', '93'],
    ['What is 15 % of that?', '15'],
    ['What is half of it?', '50'],
    ['and 14 plus 15?', '29'],
  ])('%s', (question, value) => {
    expect(resultFor(question, 100)).toBe(value)
  })

  test('without a previous result, such a question has no expression', () => {
    for (const question of ['And times 2?', 'plus 6', 'Add 10 to that.', 'Add 10.'])
      expect(askedSum(question, undefined)).toBeUndefined()
  })
})

test.each([
  'Hello!',
  '42',
  'What is 7?',
  'What happened on 9/11?',
  'I have 5 apples and get 3 more. How many do I have now?',
  'Tell me a story about 3 + 4 foxes.',
  'A jacket costs 60 euros and a hat 20. It is 15 % cheaper. What does it cost?',
  'Of the 20 people here 15 % are late. Why?',
  'Is it 5 - 3?',
  'What is 1 / 0?',
  'What is it?',
  'a - b',
  '+',
  '(2 + 3',
])('%s is not read as a sum', (question) => {
  expect(askedSum(question, '100')).toBeUndefined()
})
