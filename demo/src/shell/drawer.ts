// The drawer. In: conversations, and actions on them. Out: their list, shown over the page on a phone.
import { html, type TemplateResult } from 'lit'
import { ConversationList, type ListActs } from '../conversation/list/conversation-list.ts'
import type { Conversation } from '../conversation/store/conversations.ts'
import { Modal } from './modal.ts'
import { nextTask } from './tasks.ts'

class ConversationDrawer extends Modal {
  static override properties = {
    ...Modal.properties,
    conversations: { attribute: false },
    current: { type: String },
    removed: { attribute: false },
    unkept: { type: Boolean },
    acts: { attribute: false },
  }
  declare conversations: readonly Conversation[]
  declare current: string
  declare removed: readonly Conversation[]
  declare unkept: boolean
  declare acts: ListActs
  protected override heading = 'conversations' as const
  protected override kind = 'drawer'

  protected override pieces(): readonly TemplateResult[] {
    return [
      html`<conversation-list .conversations=${this.conversations} current=${this.current} .removed=${this.removed}
        ?unkept=${this.unkept} .acts=${this.#acts}></conversation-list>`,
    ]
  }

  /** Opening a conversation closes the drawer. */
  get #acts(): ListActs {
    return {
      ...this.acts,
      fresh: () => {
        // The composer gets the focus next, and nothing behind an open dialog can take it.
        this.close()
        this.acts.fresh()
      },
      open: (id) => {
        this.acts.open(id)
        void this.#closeNext()
      },
    }
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

// Created here, because the build drops an import that is not used.
customElements.define('conversation-list', ConversationList)
customElements.define('conversation-drawer', ConversationDrawer)
