// The exports of the entry `halfbyte/openai`.
export {
  type ChatCompletions,
  type OpenAIClient,
  type OpenAIOptions,
  openai,
  type RequestOptions,
} from './openai-chat.ts'
export type { RequestUsage } from './openai-request.ts'
export { type OpenAIFetch, type OpenAIFetchOptions, openaiFetch } from './openai-server/fetch.ts'
export type { NamedEngines } from './openai-server/models.ts'
export type * from './openai-types.ts'
