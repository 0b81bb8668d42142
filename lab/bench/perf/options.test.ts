// Tests that command-line options limit the suite as documented, and that every letter of a prompt is a
// token.
import { expect, test } from 'vitest'
import { ENGINES } from './engines.ts'
import { readOptions } from './options.ts'
import { idsOf, promptIds, promptOf } from './prompts.ts'

const read = (line: string) => readOptions(line === '' ? [] : line.split(' '), 'throw')

test('without flags all shapes and all engines take part, within 40 minutes', () => {
  const { shapes, kinds, threads, minutes, limits } = read('')
  expect(shapes.map(({ name }) => name)).toEqual(['smollm2-135m', 'qwen2.5-0.5b', 'llama-3.2-1b'])
  expect(kinds).toEqual(ENGINES)
  expect([threads, minutes]).toEqual([[1, 2], 40])
  expect(limits).toEqual({ prompts: undefined, rounds: undefined, decode: undefined })
})

test('flags select; Halfbyte always takes part', () => {
  const { shapes, kinds, limits } = read('--shape tiny --peer wllama-2,llama.cpp --rounds 2 --prompts 64,512')
  expect(shapes.map(({ name }) => name)).toEqual(['tiny'])
  expect(kinds.map(({ name }) => name)).toEqual(['halfbyte', 'llama.cpp', 'wllama-2'])
  expect(limits).toMatchObject({ rounds: 2, prompts: [64, 512] })
  expect(read('--turn 2000').turn).toBe(2000)
  expect(read('--peer none').kinds.map(({ name }) => name)).toEqual(['halfbyte'])
})

test.each(['--shape gpt', '--peer ollama', '--rounds 0', '--prompts 64,x'])('%s is rejected', (line) => {
  expect(() => read(line)).toThrow()
})

test('a prompt has one token per letter, and a different beginning for every seed', () => {
  const prompts = [1, 2, 3, 64, 6400, 6401].map((seed) => promptOf(40, seed))
  expect(new Set(prompts.map((prompt) => prompt.slice(0, 6))).size).toBe(prompts.length)
  for (const prompt of prompts) {
    expect(prompt).toMatch(/^[b-zB-Z]{40}$/)
    expect(promptIds(prompt)).toHaveLength(40)
  }
  expect(promptOf(40, 1)).toBe(prompts[0])
})

test('ids are read from text of letters and fillers', () => {
  expect(idsOf('b<filler_0><filler_151677>Z')).toEqual([98, 256, 151933, 90])
  expect(idsOf('�<filler_7>')).toEqual([263])
})
