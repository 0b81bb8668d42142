// Reply scoring compared with lm-evaluation-harness. In: the instructions of IFEval, texts in
// golden/evaluation. Out: the same answer to every instruction of IFEval and to GSM8K's filters
// (testing/mark-replies.py).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gsm8k } from '../../../src/tools/evaluate/replies/gsm8k.ts'
import { instructionCheck } from '../../../src/tools/evaluate/replies/instructions.ts'
import { fixtureText } from '../../helpers/fixture.ts'

const golden = JSON.parse(
  readFileSync(join(import.meta.dirname, '../golden/evaluation/replies.json'), 'utf8'),
) as {
  readonly texts: readonly string[]
  /** For each text, one digit per instruction in the data. */
  readonly instructions: readonly string[]
  readonly numbers: readonly (readonly [text: string, answer: string, strict: number, flexible: number])[]
}

/** The harness also asks langdetect, which is unreliable for texts in capitals. */
const ASKS_LANGUAGE = /^(?:change_case:english|language:)/
/** The harness replaces an invalid letter with a random one. */
const ODD_LETTERS: readonly unknown[] = ['#', '!']

describe('instructions of IFEval', () => {
  const instructions = fixtureText('texts/ifeval.jsonl')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => {
      const { key, instruction_id_list: ids, kwargs } = JSON.parse(line)
      return (ids as string[]).map((id, at) => ({
        key,
        id,
        check: instructionCheck(id, kwargs[at]),
        isOdd: ODD_LETTERS.includes(kwargs[at].letter),
      }))
    })

  test('all 834 are known, and all are checked except languages that share a script', () => {
    expect(instructions).toHaveLength(834)
    expect(instructions.filter(({ check }) => check === 'unknown')).toEqual([])
    const unchecked = instructions.filter(({ check }) => check === 'unchecked')
    expect([unchecked.length, ...new Set(unchecked.map(({ id }) => id))]).toEqual([
      21,
      'language:response_language',
    ])
  })

  test.each(golden.texts.map((text, index) => [index, text] as const))(
    'text %i is scored as in the harness',
    (index, text) => {
      const wrong = instructions.flatMap(({ key, id, check, isOdd }, at) => {
        if (typeof check !== 'function' || ASKS_LANGUAGE.test(id) || isOdd) return []
        const found = text.trim() !== '' && check(text)
        return Number(found) === Number(golden.instructions[index]![at]) ? [] : [`${key} ${id}: ${found}`]
      })
      expect(wrong).toEqual([])
    },
  )

  test('a language with its own script is recognised by it', () => {
    const wrong = golden.texts.flatMap((text, index) =>
      instructions.flatMap(({ key, id, check }, at) => {
        if (id !== 'language:response_language' || typeof check !== 'function') return []
        // langdetect has no answer for blank text, and the harness accepts such replies.
        const found = text.trim() !== '' && check(text)
        return Number(found) === Number(golden.instructions[index]![at]) ? [] : [`${index}, ${key}: ${found}`]
      }),
    )
    expect(wrong).toEqual([])
  })
})

test.each(golden.numbers)(
  '%j for %j: both filters agree with the harness',
  async (text, answer, strict, flexible) => {
    const file = { name: 'g', pieces: () => JSON.stringify({ question: 'q', answer: answer }) }
    const [item] = (await gsm8k(file, undefined, {})).items
    const reply = { text, toolCalls: [], finishReason: 'stop', promptTokens: 1, tokens: [] }
    expect(Object.values(item!.mark(reply)).flat().map(Number)).toEqual([strict, flexible])
  },
)
