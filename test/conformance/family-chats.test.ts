// How families call tools and mark thoughts. In: our table, published templates, the guide's tables. Out:
// whether the engine reads every form and mark, and whether the three sources agree.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { FAMILIES } from '../../src/core/arch/families.ts'
import { CALL_FORMS, formOf, MARKERS } from '../../src/core/base/calls/marks.ts'
import { firstMark } from '../../src/core/text/chat/marks.ts'
import { reasoningFormOf, reasoningSplitter } from '../../src/core/text/chat/reasoning.ts'
import { toolCallsOf } from '../../src/engine/reply/reply-tool-calls.ts'
import { calledReply, DERIVED, listsTools, written } from './templates/derived.ts'
import { FAMILY_CHATS, TEMPLATE_FAMILIES, type ToolForm, UNMARKED } from './testing/families/family-chats.ts'

type Row = readonly string[]

/** The cells of the table in a section of the guide, without its header. */
function rowsIn(page: string, title: string): readonly Row[] {
  const text = readFileSync(new URL(`../../docs/guide/${page}`, import.meta.url), 'utf8')
  const section = text.split(`# ${title}\n`)[1]!.split(/^#/m)[0]!
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(1).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  )
}

const FORM_ROWS = rowsIn('tools.md', 'How models write calls')
const MARK_ROWS = rowsIn('templates.md', 'Marks')
const namesIn = (row: Row): readonly string[] => [...row[2]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)

/** The form of calls that a template writes, or otherwise asks its model to write. */
function derivedForm(name: string): ToolForm {
  const { form } = written(name, [])
  if (form.isHarmony) return 'channel'
  const { mark } = calledReply(name)
  return mark === '' ? 'bare' : formOf(mark)
}

const entries = Object.entries(FAMILY_CHATS)
const tools = entries.flatMap(([family, chat]) =>
  Object.entries(chat?.tools ?? {}).map(([form, model]) => [family, form, model] as const),
)
const thoughts = entries.flatMap(([family, chat]) =>
  Object.entries(chat?.thoughts ?? {}).map(([mark, model]) => [family, mark, model] as const),
)

describe('the forms of tool calls', () => {
  test.each(tools)('of %s: the guide says %s of %s', (_, form, model) => {
    const rows = FORM_ROWS.filter((row) => namesIn(row).includes(form))
    expect(rows.map(([models]) => models).join('; ')).toContain(model)
  })

  test('are all in the guide, under their names in the code', () => {
    const named = new Set(FORM_ROWS.flatMap(namesIn))
    expect([...named].sort()).toEqual([...CALL_FORMS, ...Object.keys(UNMARKED)].sort())
  })

  test.each(Object.entries(UNMARKED))('without a mark are read: %s', (name, text) => {
    const splitter = reasoningSplitter(reasoningFormOf(name === 'channel' ? text : ''), 'start')
    const answer = splitter.push(text).text + splitter.finish().text
    const reader = toolCallsOf({
      type: 'messages',
      messages: [{ role: 'user', content: 'Call.' }],
      tools: [{ name: 'f' }],
    })!
    expect((reader.push(answer) + reader.finish()).trim()).toBe('')
    expect(reader.found).toMatchObject([{ name: 'f', arguments: { a: 1 } }])
    expect(firstMark(text, MARKERS)).toBeUndefined()
  })
})

describe('the marks of thoughts', () => {
  test.each(thoughts)('of %s: the guide says %s of %s', (_, mark, model) => {
    const rows = MARK_ROWS.filter(([, marks]) => marks!.startsWith(`\`${mark}…`))
    expect(rows.map(([models]) => models).join('; ')).toContain(model)
  })

  test.each(thoughts)('of %s are read: %s', (_, mark) => {
    const form = reasoningFormOf(mark)
    expect([form.open, form.isAssumed]).toEqual([mark, undefined])
  })
})

describe('published templates', () => {
  test('belong to an existing family, or to none', () => {
    expect(Object.keys(TEMPLATE_FAMILIES).sort()).toEqual(Object.keys(DERIVED).sort())
    const families = Object.values(TEMPLATE_FAMILIES).filter((family) => family !== undefined)
    expect(families.filter((family) => !FAMILIES.includes(family))).toEqual([])
  })

  const known = Object.entries(TEMPLATE_FAMILIES).flatMap(([name, family]) =>
    family === undefined ? [] : [[name, family] as const],
  )

  test.each(known.filter(([name]) => listsTools(name)))('%s calls tools like %s', (name, family) => {
    expect(Object.keys(FAMILY_CHATS[family]?.tools ?? {})).toContain(derivedForm(name))
  })

  test.each(known.filter(([name]) => written(name, []).form.isAssumed !== true))(
    '%s thinks like %s',
    (name, family) => {
      expect(Object.keys(FAMILY_CHATS[family]?.thoughts ?? {})).toContain(written(name, []).form.open)
    },
  )
})
