// Properties of the widget. In: attributes and properties of a page. Out: a Lit element that holds them, with
// their defaults.
import { LitElement } from 'lit'
import { listOf } from './attributes.ts'
import type { HalfbyteChatProps } from './element.ts'

/** element.ts says what each is for. The engine is a property of the element itself. */
export class ChatProperties extends LitElement implements Omit<HalfbyteChatProps, 'engine'> {
  static override properties = {
    model: {},
    system: {},
    heading: {},
    placeholder: {},
    mode: { reflect: true },
    open: { type: Boolean, reflect: true },
    theme: { reflect: true },
    autoload: { type: Boolean },
    downloadBytes: { type: Number, attribute: 'download-bytes' },
    keep: {},
    name: {},
    share: {},
    suggestions: { converter: listOf },
    tools: { attribute: false },
    documents: { attribute: false },
    loadOptions: { attribute: false },
    generateOptions: { attribute: false },
    messages: { attribute: false },
    engine: { attribute: false, noAccessor: true },
    following: { state: true },
  }
  declare model: HalfbyteChatProps['model']
  declare system: HalfbyteChatProps['system']
  declare heading: HalfbyteChatProps['heading']
  declare placeholder: HalfbyteChatProps['placeholder']
  declare mode: HalfbyteChatProps['mode']
  declare open: HalfbyteChatProps['open']
  declare theme: HalfbyteChatProps['theme']
  declare autoload: HalfbyteChatProps['autoload']
  declare downloadBytes: HalfbyteChatProps['downloadBytes']
  declare keep: HalfbyteChatProps['keep']
  declare name: HalfbyteChatProps['name']
  declare share: HalfbyteChatProps['share']
  declare suggestions: HalfbyteChatProps['suggestions']
  declare tools: HalfbyteChatProps['tools']
  declare documents: HalfbyteChatProps['documents']
  declare loadOptions: HalfbyteChatProps['loadOptions']
  declare generateOptions: HalfbyteChatProps['generateOptions']
  declare messages: HalfbyteChatProps['messages']
  declare protected following: boolean

  constructor() {
    super()
    this.mode = 'inline'
    this.open = false
    this.theme = 'inherit'
    this.autoload = false
    this.keep = 'none'
    this.name = 'default'
    this.share = 'page'
    this.suggestions = []
    this.tools = []
    this.documents = []
    this.loadOptions = {}
    this.generateOptions = {}
    this.messages = {}
    this.following = true
  }
}
