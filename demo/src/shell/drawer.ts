// The drawer. In: conversations. Out: their list over the page of a phone, with the list's events.
import { html, type TemplateResult } from 'lit'
import { ConversationList } from '../conversation/list/conversation-list.ts'
import type { Conversation } from '../conversation/store/conversations.ts'
import { Modal } from './modal.ts'
import { nextTask } from './tasks.ts'

export class ConversationDrawer extends Modal {
  static override properties = {
    ...Modal.properties,
    conversations: { attribute: false },
    current: { type: String },
    removed: { attribute: false },
  }
  declare conversations: readonly Conversation[]
  declare current: string
  declare removed: Conversation | undefined
  protected override heading = 'conversations' as const
  protected override kind = 'drawer'

  protected override pieces(): readonly TemplateResult[] {
    return [
      html`<conversation-list .conversations=${this.conversations} current=${this.current} .removed=${this.removed}
        @fresh=${this.close} @open=${this.#closeNext}></conversation-list>`,
    ]
  }

  /**
   * Closing causes layout, which must not share a task with rendering another conversation. Until then, taps
   * are ignored.
   */
  async #closeNext(): Promise<void> {
    await nextTask()
    this.close()
  }
}

// Here, because the build drops an import of which nothing is used.
customElements.define('conversation-list', ConversationList)
customElements.define('conversation-drawer', ConversationDrawer)
