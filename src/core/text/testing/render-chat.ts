// Renders one prompt for tests, which mostly render one of each template.
import { type ChatMessage, type ChatOptions, ChatTemplate } from '../chat/chat-template.ts'

/** Throws `format` as ChatTemplate does. */
export const renderChat = (
  messages: readonly ChatMessage[],
  options: ChatOptions & { readonly template: string },
): string => new ChatTemplate(options.template).render(messages, options)
