// Templates compared with jinja2. In: expressions, published templates, conversations. Out: the texts of
// jinja2 3.1.6 as set up by Transformers, or an error where jinja2 has one.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChatTemplate } from '../../../src/core/text/chat/chat-template.ts'
import { compareTemplates, folder, renderOrRefuse } from './compare.ts'

const json = (path: string) => JSON.parse(readFileSync(join(folder, path), 'utf8'))

test('every expression and statement renders as in jinja2', () => {
  const { variables } = json('expressions.json')
  const cases = json('golden/expressions.json') as [string, string | null][]
  expect(cases.length).toBeGreaterThan(700)
  const different = cases.flatMap(([source, expected]) => {
    const text = textOf(source, variables)
    return (typeof text === 'string' ? text : null) === expected ? [] : [{ source, expected, text }]
  })
  expect(different).toEqual([])
})

test('every published template renders every conversation as in jinja2', () => {
  const digest = (text: string) => createHash('sha256').update(text).digest('hex')
  const source = (name: string) => readFileSync(join(folder, 'published', `${name}.jinja`), 'utf8')
  const { alike, refused, different } = compareTemplates(json('golden/published.json'), source, digest)
  expect(different).toEqual([])
  expect(alike).toBeGreaterThan(700)
  expect(refused).toBeGreaterThan(50)
})

function textOf(source: string, variables: Parameters<typeof renderOrRefuse>[1]) {
  try {
    return renderOrRefuse(new ChatTemplate(source), variables)
  } catch (error) {
    return { refusal: String(error) }
  }
}
