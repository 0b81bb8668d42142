// The manifest of the element. In: custom-elements.json, the guide, the sources. Out: whether they agree.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HalfbyteChatElement } from './chat-element.ts'
import manifest from './custom-elements.json' with { type: 'json' }

const FOLDER = import.meta.dirname
const [declaration] = manifest.modules[0]?.declarations ?? []
if (declaration === undefined) throw new Error('the manifest declares nothing')

const sources = [FOLDER, join(FOLDER, '../chat')]
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n')
const guide = readFileSync(join(FOLDER, '../../../docs/guide/widget.md'), 'utf8')

const found = (pattern: RegExp) =>
  [...new Set([...sources.matchAll(pattern)].flatMap(([, names = '']) => names.split(' ')))].sort()
const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).sort()

test('every reactive property is a field, with its attribute', () => {
  const own = Object.entries(HalfbyteChatElement.properties)
    .filter(([, options]) => !('state' in options && options.state === true))
    .map(([name, options]) => {
      const attribute = 'attribute' in options ? options.attribute : undefined
      return [name, attribute === false ? undefined : (attribute ?? name.toLowerCase())]
    })
  const fields = declaration.members
    .filter((member) => member.kind === 'field' && !('readonly' in member))
    .map((member) => [member.name, 'attribute' in member ? member.attribute : undefined])
  expect(fields.sort()).toEqual(own.sort())
  expect(declaration.attributes.map(({ fieldName, name }) => [fieldName, name]).sort()).toEqual(
    own.filter(([, attribute]) => attribute !== undefined).sort(),
  )
})

test('every method and read-only field exists', () => {
  for (const member of declaration.members) expect(sources).toMatch(new RegExp(`\\b${member.name}\\b`))
  const methods = declaration.members.filter(({ kind }) => kind === 'method')
  for (const { name } of methods) expect(name in HalfbyteChatElement.prototype).toBe(true)
})

test('events, slots, parts and custom properties match the templates and styles', () => {
  expect(names(declaration.events)).toEqual(
    found(/'(halfbyte-(?:progress|ready|message|error|tool|toggle))': CustomEvent/g),
  )
  expect(names(declaration.events)).toEqual(found(/#emit\(\s*'(\w+)'/g).map((name) => `halfbyte-${name}`))
  expect(names(declaration.slots)).toEqual(found(/<slot name="([\w-]+)"/g))
  const roles = ['message-user', 'message-assistant']
  const parts = found(/\bpart="([\w $%{}-]+)"/g).filter((part) => !part.includes('$'))
  expect(names(declaration.cssParts)).toEqual([...parts, ...roles].sort())
  expect(names(declaration.cssProperties)).toEqual(found(/var\((--halfbyte-[\w-]+)/g))
})

test('the guide names every event, slot, part and custom property', () => {
  const { attributes, events, slots, cssParts, cssProperties, members } = declaration
  const own = members.filter((member) => !('attribute' in member))
  const all = [attributes, events, slots, cssParts, cssProperties, own].flatMap(names)
  expect(all.filter((name) => !guide.includes(`\`${name}`))).toEqual([])
})
