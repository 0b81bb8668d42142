// Renders a single prompt, for tests that render each template only once.
import { type ChatMessage, type ChatOptions, ChatTemplate } from '../chat/chat-template.ts'

/** Throws `format` like ChatTemplate. */
export const renderChat = (
  messages: readonly ChatMessage[],
  options: ChatOptions & { readonly template: string },
): string => new ChatTemplate(options.template).render(messages, options)
