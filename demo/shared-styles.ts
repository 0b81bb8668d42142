// Shared styles. In: src/ui/chat/styles.ts. Out: the style sheet shared.css of the page, with the rules that
// the widget has too.
import type { Plugin } from 'vite'
import { chatStyles } from '../src/ui/chat/styles.ts'

/** As a style sheet, the rules are there before the first script. */
export const sharedStyles: Plugin = {
  name: 'shared-styles',
  enforce: 'pre',
  transform: (_code, id) =>
    /[\\/]styles[\\/]shared\.css$/.test(id)
      ? { code: chatStyles.map(({ cssText }) => cssText).join(''), map: null }
      : undefined,
}
