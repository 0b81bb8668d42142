// Target: chat templates. In: models' templates and templates generated from Jinja's grammar, with mutated
// conversations. Out: the prompt, and which tokens end a turn.
import {
  CHATML,
  type ChatMessage,
  ChatTemplate,
  PLAIN,
  turnEndIds,
} from '../../../src/core/text/chat/chat-template.ts'
import { byteLevelSpec } from '../../../src/core/text/testing/tiny.ts'
import { createTokenizer } from '../../../src/core/text/tokenize/read/create.ts'
import { renderTurns } from '../../../src/engine/chat/chat-turns.ts'
import { isMessage } from '../../../src/engine/chat/messages.ts'
import type { Message, Tool } from '../../../src/engine/types/conversation.ts'
import type { Random } from '../../helpers/random.ts'
import { type Input, textOf } from '../input.ts'
import { textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { mutateText } from '../mutate/mutate-text.ts'
import type { Target } from '../target.ts'

export async function openTarget(): Promise<Target> {
  const tokenizer = createTokenizer(byteLevelSpec())
  const conversation = treeOf(CONVERSATION)
  const plain = textOfTree(conversation)
  return {
    draw(random) {
      const isGrown = random.chance(0.5)
      const good = isGrown ? body(random, 2) : random.pick(TEMPLATES)
      const isCut = random.chance(isGrown ? 0.2 : 0.8)
      return {
        template: isCut ? mutateText(random, good, WORDS, TEMPLATES) : good,
        messages: random.chance(0.2) ? textOfTree(mutateJson(random, conversation)) : plain,
      }
    },
    run(input) {
      const template = new ChatTemplate(textOf(input, 'template'))
      turnEndIds(tokenizer, template)
      const { messages, tools } = conversationOf(input)
      template.render(messages as unknown as ChatMessage[], {
        tools,
        bosToken: '<|bos|>',
        eosToken: '<|im_end|>',
        now: NOW,
      })
      renderTurns({ template }, tokenizer, messages)
      return 'rendered'
    },
  }
}

const NOW = new Date(2026, 10, 3)

const CONVERSATION = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hello\n  <|im_end|> world' },
    {
      role: 'assistant',
      content: '<think>\nhm\n</think>\n\nhi',
      toolCalls: [{ id: 'a1', name: 'add', arguments: { a: 1, b: [null, true, 'x'] } }],
    },
    { role: 'tool', content: '{"sum": 3}', toolCallId: 'a1', name: 'add' },
    { role: 'user', content: 'again' },
  ],
  tools: [
    {
      name: 'add',
      description: 'Adds.',
      parameters: { type: 'object', properties: { a: { type: 'number' } } },
    },
  ],
}

/** The values that the service passes to a template. */
function conversationOf(input: Input): { messages: readonly Message[]; tools: readonly Tool[] } {
  let value: { messages?: unknown; tools?: unknown } = {}
  try {
    value = Object(JSON.parse(textOf(input, 'messages')))
  } catch {
    // Numbers that JSON cannot express.
  }
  const messages = Array.isArray(value.messages) ? value.messages.filter(isMessage) : []
  const isTool = (tool: unknown): tool is Tool => typeof Object(tool).name === 'string'
  return { messages, tools: Array.isArray(value.tools) ? value.tools.filter(isTool) : [] }
}

const NAMES = [
  'messages',
  'message',
  'tools',
  'x',
  'ns',
  'ns.x',
  'loop.index0',
  'loop',
  'bos_token',
  'undefined_one',
  'add_generation_prompt',
]
const FILTERS = [
  'trim',
  'length',
  'tojson',
  'upper',
  'first',
  'last',
  'join',
  'list',
  'string',
  'int',
  'items',
  'safe',
  'abs',
  'default("d")',
  'join(", ")',
  'replace("a", "bb")',
  'selectattr("role", "equalto", "user")',
  'map(attribute="content")',
  'tojson(indent=2)',
  'indent(4)',
  'rejectattr("x")',
  'sort',
  'unique',
  'reverse',
  'dictsort',
  'float',
  'round',
  'nope',
]
const METHODS = [
  '.strip()',
  '.split("\\n")',
  '[0]',
  '[-1]',
  '[::-1]',
  '[1:]',
  '.content',
  '.items()',
  '.startswith("a")',
  '.replace("a","aaa")',
  '.upper()',
  '.keys()',
  '.get("role")',
  '.nope()',
  '["__proto__"]',
  '.constructor',
  '[9999]',
  '.toString',
]
const OPERATORS = [
  '+',
  '-',
  '*',
  '/',
  '%',
  '~',
  '==',
  '!=',
  '<',
  'in',
  'not in',
  'and',
  'or',
  'is defined and',
  '//',
  '**',
]
const TESTS = [
  'defined',
  'none',
  'string',
  'mapping',
  'iterable',
  'number',
  'true',
  'odd',
  'divisibleby(3)',
  'nope',
]
const WORDS = [
  '{{',
  '}}',
  '{%',
  '%}',
  '{%-',
  '-%}',
  '{#',
  '#}',
  '{{-',
  '-}}',
  'for',
  'in',
  'if',
  'else',
  'elif',
  'endif',
  'endfor',
  'set',
  'endset',
  'macro',
  'endmacro',
  'call',
  'endcall',
  'filter',
  'endfilter',
  'break',
  'continue',
  'generation',
  'endgeneration',
  'namespace(',
  'range(',
  'raise_exception(',
  'strftime_now(',
  'loop.',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '|',
  ':',
  ',',
  '.',
  '"',
  "'",
  '\\',
  '0',
  '1e9',
  '-1',
  '2**53',
  ...NAMES.map((name) => ` ${name} `),
  ...FILTERS.map((filter) => `|${filter}`),
  ...METHODS,
  ...OPERATORS.map((operator) => ` ${operator} `),
]

function expression(random: Random, level: number): string {
  if (level === 0 || random.chance(0.3)) {
    return random.pick([
      ...NAMES,
      '1',
      '0',
      '-7',
      '1.5',
      '"a"',
      "'a b\\n'",
      'true',
      'none',
      '[]',
      '{}',
      '[1, "b", none]',
      '{"a": 1, "b": [2]}',
    ])
  }
  const inner = () => expression(random, level - 1)
  switch (random.below(8)) {
    case 0:
    case 1:
      return `${inner()}|${random.pick(FILTERS)}`
    case 2:
    case 3:
      return inner() + random.pick(METHODS)
    case 4:
      return `(${inner()} ${random.pick(OPERATORS)} ${inner()})`
    case 5:
      return `(${inner()} if ${inner()} else ${inner()})`
    case 6:
      return `${inner()} is ${random.chance(0.3) ? 'not ' : ''}${random.pick(TESTS)}`
    default:
      return random.pick([
        `range(${random.below(9)})`,
        `namespace(x=${inner()})`,
        `f(${inner()})`,
        `strftime_now(${inner()})`,
        `[${inner()}, ${inner()}]`,
        `{"k": ${inner()}}`,
      ])
  }
}

function body(random: Random, level: number): string {
  return Array.from({ length: random.few(4) }, () => statement(random, level)).join('')
}

function statement(random: Random, level: number): string {
  const value = () => expression(random, 3)
  if (level === 0) return `{{ ${value()} }}`
  const inner = () => body(random, level - 1)
  switch (random.below(9)) {
    case 0:
      return `{% for message in ${random.pick(['messages', 'messages[::-1]', 'tools', value()])} %}${inner()}{% endfor %}`
    case 1:
      return `{% for k, v in ${value()} %}${inner()}{% else %}${inner()}{% endfor %}`
    case 2:
      return `{% if ${value()} %}${inner()}{% elif ${value()} %}${inner()}{% else %}${inner()}{% endif %}`
    case 3:
      return `{% set x = ${value()} %}`
    case 4:
      return `{% set ns = namespace(x=${value()}) %}${inner()}{% set ns.x = ${value()} %}`
    case 5:
      return `{% macro f(a, b=1) %}${inner()}{{ a }}{% endmacro %}`
    case 6:
      return `{% set x %}${inner()}{% endset %}`
    case 7:
      return `text\n ${random.pick(['<|im_start|>', '<|im_end|>', '{# note #}'])}`
    default:
      return `{{- ${value()} -}}`
  }
}

const TEMPLATES = [
  CHATML,
  PLAIN,
  "{{ bos_token }}{%- for message in messages -%}{%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}{{ '<start_of_turn>' + role + '\\n' }}{%- if message['content'] is string -%}{{ message['content'] | trim }}{%- elif message['content'] is iterable -%}{%- for part in message['content'] -%}{{ part['text'] | trim }}{%- endfor -%}{%- endif -%}{{ '<end_of_turn>\\n' }}{%- endfor -%}",
  "{%- set ns = namespace(tool=true, last=messages|length - 1) %}{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}{%- if ns.tool and message.role == 'user' and not(message.content.startswith('<tool_response>')) %}{%- set ns.tool = false %}{%- set ns.last = index %}{%- endif %}{%- endfor %}{{ ns.last }}",
  "{%- for message in messages %}{%- if '</think>' in message.content %}{%- set thought = message.content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}{{ thought }}{%- endif %}{%- if message.tool_calls %}{%- for call in message.tool_calls %}{%- if call.function %}{%- set call = call.function %}{%- endif %}{{ call.name }}{{ call.arguments | tojson }}{%- for k, v in call.arguments.items() %}<{{ k }}>{{ v if v is string else v | tojson }}{%- endfor %}{%- endfor %}{%- endif %}{%- endfor %}",
  '{%- macro render(item, level=0) %}{%- if item is mapping %}{%- for k, v in item.items() %}{{ "  " * level }}{{ k }}: {{ render(v, level + 1) }}{%- endfor %}{%- else %}{{ item }}{%- endif %}{%- endmacro %}{%- if tools %}{%- for tool in tools %}{{ render(tool) }}{{ tool | tojson(indent=4) }}{%- endfor %}{%- endif %}{{ strftime_now("%d %b %Y") }}',
  "{%- if messages[0]['role'] == 'system' -%}{%- set system_message = messages[0]['content'] -%}{%- set loop_messages = messages[1:] -%}{%- else -%}{%- set loop_messages = messages -%}{%- endif -%}{%- for message in loop_messages -%}{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('roles must alternate') }}{%- endif -%}[INST] {{ message['content'] }} [/INST]{%- endfor -%}",
]
