// Shared styles. In: src/ui/chat/styles.ts. Out: the page's style sheet shared.css, with the rules shared
// with the widget.
import type { Plugin } from 'vite'
import { chatStyles } from '../src/ui/chat/styles.ts'

/** As a style sheet, the rules apply before the first script runs. */
export const sharedStyles: Plugin = {
  name: 'shared-styles',
  enforce: 'pre',
  transform: (_code, id) =>
    /[\\/]styles[\\/]shared\.css$/.test(id)
      ? { code: chatStyles.map(({ cssText }) => cssText).join(''), map: null }
      : undefined,
}
