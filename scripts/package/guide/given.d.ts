// Names that the manual's blocks use but do not declare, because the surrounding text or an earlier block
// does.
declare const { Engine, isHalfbyteError, interruptedLoads }: typeof import('halfbyte')
declare const { Embedder }: typeof import('halfbyte/embedder')
declare const { Network }: typeof import('halfbyte/network')
declare const { openai, openaiFetch }: typeof import('halfbyte/openai')
declare const { promptApi }: typeof import('halfbyte/prompt-api')
declare const OpenAI: typeof import('openai').default

declare const engine: import('halfbyte').Engine
declare const session: import('halfbyte').Session
declare const onProgress: (event: import('halfbyte').LoadProgress) => void
declare const embedder: import('halfbyte/embedder').Embedder
declare const reranker: import('halfbyte/embedder').Embedder
/** The widget on the page. Blocks that use `chat` for something else declare it. */
declare const chat: import('halfbyte/widget').HalfbyteChat

declare const address: string
declare const url: string
declare const model: string
declare const file: File
declare const texts: string[]
declare const passages: string[]
declare const tools: import('halfbyte').RunnableTool[]
declare const messages: { role: 'user' | 'assistant'; content: string }[]
declare const initialPrompts: { role: 'user' | 'assistant'; content: string }[]
declare const makeRoom: (bytes: number) => Promise<void>
declare const show: (text: string) => void
declare const showThought: (text: string) => void
declare const showAnswer: (text: string) => void
declare const weatherOf: (city: unknown) => object

/** The test runner of an app. */
declare const vi: typeof import('vitest').vi
declare const test: typeof import('vitest').test

/** Clients that only npm run test:clients installs and runs. */
declare module '@langchain/openai'
declare module '@ai-sdk/react'
declare module 'ai'
