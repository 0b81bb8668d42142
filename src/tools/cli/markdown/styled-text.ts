// Text for a terminal: styled, and wrapped to a width.
import { styleText } from 'node:util'
import wrapAnsi from 'wrap-ansi'

export type Style = 'bold' | 'italic' | 'underline' | 'strikethrough' | 'dim' | 'cyan'

/** Each leaf is styled by itself, so that the end of a style does not end an outer one. */
export const styled = (text: string, styles: readonly Style[]): string =>
  styles.length === 0 ? text : styleText([...styles], text, { validateStream: false })

/** Wide characters count as two columns, and words longer than a line are cut. */
export const wrapped = (text: string, width: number): string[] =>
  wrapAnsi(text, Math.max(1, width), { hard: true }).split('\n')
