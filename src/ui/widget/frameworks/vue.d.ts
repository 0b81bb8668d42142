// <halfbyte-chat> in Vue's templates: `import type {} from 'halfbyte/widget/vue'`.
import type { DefineComponent, HTMLAttributes } from 'vue'
import type { HalfbyteChatEvents, HalfbyteChatProps } from '../element.ts'

/** `@halfbyte-ready` becomes the property `onHalfbyteReady`. */
type Listeners = {
  [Name in keyof HalfbyteChatEvents as Name extends `halfbyte-${infer Rest}`
    ? `onHalfbyte${Capitalize<Rest>}`
    : never]?: (event: HalfbyteChatEvents[Name]) => void
}

declare module 'vue' {
  interface GlobalComponents {
    'halfbyte-chat': DefineComponent<
      Omit<HTMLAttributes, keyof HalfbyteChatProps> & Partial<HalfbyteChatProps> & Listeners
    >
  }
}
