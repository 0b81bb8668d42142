// Forty sums as people write them, with their results: thirty plain ones and ten that follow up on an earlier
// one.

export interface Sum {
  /** The user's messages, turn by turn. The last answer counts. */
  readonly turns: readonly string[]
  readonly result: number
}

const plain = (question: string, result: number): Sum => ({ turns: [question], result })

export const SUMS: readonly Sum[] = [
  plain('What is 17 times 24?', 408),
  plain('3.5 + 2.25', 5.75),
  plain('What is 15 % of 240?', 36),
  plain('What is 15% of 240?', 36),
  plain('100 - 37', 63),
  plain('12 * 12', 144),
  plain('What is 144 divided by 12?', 12),
  plain('How much is 99 plus 1?', 100),
  plain('7 x 8', 56),
  plain('1000 / 8 = ?', 125),
  plain('What is 2 + 3 * 4?', 14),
  plain('(2 + 3) * 4', 20),
  plain('What is 1.5 times 6?', 9),
  plain('0.1 + 0.2', 0.3),
  plain('Calculate 81 / 9, please.', 9),
  plain('What is twelve times twelve?', 144),
  plain('What is seven plus five?', 12),
  plain('What is 1,250 + 750?', 2000),
  plain('How much is 20 percent of 50?', 10),
  plain('What is 2 to the power of 10?', 1024),
  plain('2^8', 256),
  plain('What is half of 90?', 45),
  plain('Add 45 and 55.', 100),
  plain('Multiply 25 by 4.', 100),
  plain('Divide 84 by 7.', 12),
  plain('Subtract 18 from 50.', 32),
  plain('What is 12 + 13 + 14?', 39),
  plain('19.99 * 3', 59.97),
  plain('What is 365 * 24?', 8760),
  plain('I have 5 apples and get 3 more. How many do I have now?', 8),
  { turns: ['What is 17 times 24?', 'And times 2?'], result: 816 },
  { turns: ['12 * 12', 'plus 6'], result: 150 },
  { turns: ['What is 100 - 37?', 'Now divide that by 9.'], result: 7 },
  { turns: ['What is 25 times 4?', 'Add 10 to that.'], result: 110 },
  { turns: ['What is 81 / 9?', 'And minus 4?'], result: 5 },
  { turns: ['45 + 55', 'What is 15 % of that?'], result: 15 },
  { turns: ['What is 7 x 8?', 'What is half of that?'], result: 28 },
  { turns: ['What is 1.5 times 6?', 'Multiply it by 3.'], result: 27 },
  { turns: ['1000 / 8', 'minus 25'], result: 100 },
  { turns: ['What is 12 plus 13?', 'And what is 14 plus 15?'], result: 29 },
]

/** `refused`: the answer says that it has no result, and gives no wrong one. */
export function verdictOf(answer: string, result: number): 'right' | 'wrong' | 'refused' {
  const numbers = (answer.replaceAll(/(\d),(?=\d{3})/g, '$1').match(/\d+(?:\.\d+)?/g) ?? []).map(Number)
  if (numbers.includes(Math.abs(result))) return 'right'
  return /cannot|could not|can't|not sure|do not know|don't know/i.test(answer) ? 'refused' : 'wrong'
}
