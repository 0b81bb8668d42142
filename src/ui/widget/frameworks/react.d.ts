// <halfbyte-chat> in JSX, for React 18 and 19: `import type {} from 'halfbyte/widget/react'`.
import type { ClassAttributes, HTMLAttributes } from 'react'
import type { HalfbyteChat, HalfbyteChatEvents, HalfbyteChatProps } from '../element.ts'

/**
 * React 19 sets properties and adds listeners by these names; React 18 only sets attributes: use a ref
 * there.
 */
type Listeners = {
  [Name in keyof HalfbyteChatEvents as `on${Name}`]?: (event: HalfbyteChatEvents[Name]) => void
}

type ChatAttributes = Omit<HTMLAttributes<HalfbyteChat>, keyof HalfbyteChatProps> &
  ClassAttributes<HalfbyteChat> &
  Partial<HalfbyteChatProps> &
  Listeners & { 'allow-files'?: boolean; 'download-bytes'?: number; 'template-arguments'?: string }

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'halfbyte-chat': ChatAttributes
    }
  }
}
