// <halfbyte-chat> in Svelte's markup: `import type {} from 'halfbyte/widget/svelte'`.
import type { HTMLAttributes } from 'svelte/elements'
import type { HalfbyteChat, HalfbyteChatEvents, HalfbyteChatProps } from '../element.ts'

type Listeners = {
  [Name in keyof HalfbyteChatEvents as `on${Name}`]?: (event: HalfbyteChatEvents[Name]) => void
}

declare module 'svelte/elements' {
  interface SvelteHTMLElements {
    'halfbyte-chat': Omit<HTMLAttributes<HalfbyteChat>, keyof HalfbyteChatProps> &
      Partial<HalfbyteChatProps> &
      Listeners & { 'allow-files'?: boolean; 'download-bytes'?: number; 'template-arguments'?: string }
  }
}
