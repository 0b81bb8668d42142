// Launch addresses. In: addresses that launch an installed page. Out: what the page does first.
import { expect, test } from 'vitest'
import { launchOf } from './launch.ts'

const at = (search: string) => launchOf(`https://example.com/chat/${search}`)

test('shortcuts and shared texts are distinguished from a plain visit', () => {
  expect(at('')).toBeUndefined()
  expect(at('?weights=w4')).toBeUndefined()
  expect(at('?new')).toEqual({ kind: 'new' })
  expect(at('?models')).toEqual({ kind: 'models' })
})

test('a shared text’s title and address appear once each', () => {
  const text = at('?title=A%20fox&text=Red&url=https://fox.example/')
  expect(text).toEqual({ kind: 'text', text: 'A fox\nRed\nhttps://fox.example/' })
  expect(at('?title=Same&text=Same&url=')).toEqual({ kind: 'text', text: 'Same' })
  expect(at('?title=&text=')).toBeUndefined()
})
