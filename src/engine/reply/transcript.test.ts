// Transcripts. In: prompts that grow, shrink and change. Out: known ids are kept, and only new text is
// encoded.
import { expect, test } from 'vitest'
import { transcriptOf } from './transcript.ts'

/** One id per character; records its inputs. */
function recorder() {
  const asked: [string, boolean][] = []
  return {
    asked,
    encode: (rest: string, start: boolean) => {
      asked.push([rest, start])
      return [...rest].map((char) => char.charCodeAt(0))
    },
  }
}
const codes = (text: string) => [...text].map((char) => char.charCodeAt(0))

test('a reply keeps its original ids when the next prompt contains it', () => {
  const transcript = transcriptOf()
  const { asked, encode } = recorder()
  transcript.encode('Q1', encode)
  transcript.extend('reply', [900, 901])
  expect(transcript.encode('Q1reply|Q2', encode)).toEqual([...codes('Q1'), 900, 901, ...codes('|Q2')])
  expect(asked).toEqual([
    ['Q1', true],
    ['|Q2', false],
  ])
})

test('a fully known prompt is not encoded at all', () => {
  const transcript = transcriptOf()
  const { asked, encode } = recorder()
  transcript.encode('Q1', encode)
  transcript.extend('reply', [900])
  expect(transcript.encode('Q1', encode)).toEqual(codes('Q1'))
  expect(asked).toHaveLength(1)
})

test('a changed turn keeps everything before it', () => {
  const transcript = transcriptOf()
  const { asked, encode } = recorder()
  transcript.encode('Q1', encode)
  transcript.extend('A', [900])
  transcript.encode('Q1A|Q2', encode)
  transcript.extend('B', [901])
  expect(transcript.encode('Q1A|other', encode)).toEqual([...codes('Q1'), 900, ...codes('|other')])
  expect(asked.at(-1)).toEqual(['|other', false])
})

test('a reply that the template renders differently is encoded again', () => {
  const transcript = transcriptOf()
  const { encode } = recorder()
  transcript.encode('Q1', encode)
  transcript.extend(' A ', [900])
  expect(transcript.encode('Q1A|Q2', encode)).toEqual(codes('Q1A|Q2'))
})

test('a prompt with a different beginning is encoded from the start', () => {
  const transcript = transcriptOf()
  const { asked, encode } = recorder()
  transcript.encode('Q1', encode)
  expect(transcript.encode('Z', encode)).toEqual(codes('Z'))
  expect(asked.at(-1)).toEqual(['Z', true])
})

test('a copy is independent', () => {
  const transcript = transcriptOf()
  const { encode } = recorder()
  transcript.encode('Q1', encode)
  const copy = transcript.copy()
  copy.extend('A', [900])
  transcript.extend('B', [901])
  expect(copy.encode('Q1A|', encode)).toEqual([...codes('Q1'), 900, ...codes('|')])
  expect(transcript.encode('Q1B|', encode)).toEqual([...codes('Q1'), 901, ...codes('|')])
})

test('an empty prompt has the ids that begin every text, and a longer one begins with them once', () => {
  const transcript = transcriptOf()
  const encode = (rest: string, start: boolean) => [...(start ? [1] : []), ...codes(rest)]
  expect(transcript.encode('', encode)).toEqual([1])
  transcript.extend('A', [900])
  expect(transcript.encode('A|B', encode)).toEqual([1, 900, ...codes('|B')])
  expect(transcriptOf().encode('', codes)).toEqual([])
})

test('the turns after a removed one keep their ids', () => {
  const transcript = transcriptOf()
  const { asked, encode } = recorder()
  transcript.encode('SYS|Q1', encode)
  transcript.extend('A', [900])
  transcript.encode('SYS|Q1A|Q2', encode)
  transcript.extend('B', [901])
  // The head of an answer that has not begun.
  transcript.encode('SYS|Q1A|Q2B|', encode)
  const rest = [901, ...codes('|Q3')]
  expect(transcript.encode('SYS|Q2B|Q3', encode)).not.toContain(901)
  const copy = transcriptOf()
  copy.encode('SYS|Q1', encode)
  copy.extend('A', [900])
  copy.encode('SYS|Q1A|Q2', encode)
  copy.extend('B', [901])
  copy.encode('SYS|Q1A|Q2B|', encode)
  expect(copy.encode('SYS|Q2B|Q3', encode, true)).toEqual([...codes('SYS|Q2'), ...rest])
  expect(asked.slice(-2)).toEqual([
    ['SYS', true],
    ['Q3', false],
  ])
  copy.extend('C', [902])
  expect(copy.encode('SYS|Q2B|Q3C|', encode)).toEqual([...codes('SYS|Q2'), ...rest, 902, ...codes('|')])
})
