// Formats of single matrices. In: patterns and names. Out: formats by name, or errors.
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { formatOption, formatsOf } from './matrix-formats.ts'

const NAMES = ['layers.0.attn_q.weight', 'layers.0.mlp_down.weight', 'layers.10.mlp_down.weight']

function rulesOf(...args: readonly string[]) {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  command.addOption(formatOption()).parse(
    args.flatMap((each) => ['--format', each]),
    { from: 'user' },
  )
  return command.opts<{ format: Parameters<typeof formatsOf>[0] }>().format
}
const found = (...args: readonly string[]) => Object.fromEntries(formatsOf(rulesOf(...args), NAMES))

test('a star matches any characters, and the last rule wins', () => {
  expect(found('*.mlp_down.weight=w8', 'layers.10.*=w4m')).toEqual({
    'layers.0.mlp_down.weight': 'w8_g32',
    'layers.10.mlp_down.weight': 'w4m_g32',
  })
  expect(found('layers.0.attn_q.weight=w8')).toEqual({ 'layers.0.attn_q.weight': 'w8_g32' })
  expect(Object.keys(found('*=w4'))).toEqual(NAMES)
  expect(Object.keys(found('l*.1*0.*t=w4'))).toEqual([NAMES[2]])
})

test('names without a star match exactly, and parts do not overlap', () => {
  expect(() => found('mlp_down=w8')).toThrow(
    /matches none of the 3 matrices, such as layers\.0\.attn_q\.weight/,
  )
  expect(() => found('layers.0.attn_q.weight*weight=w8')).toThrow(/matches none/)
})

test.each(['layers.0.*', '=w8', 'layers.0.*=w5', 'layers.0.*=w4_channel'])('%s is rejected', (text) => {
  expect(() => rulesOf(text)).toThrow(/Give names and w4, w4m or w8/)
})
