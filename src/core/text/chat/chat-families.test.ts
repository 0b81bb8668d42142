// Tests templates by family. In: the constructs of each family's published template, rewritten by us. Out:
// the prompts that its model was trained on: system texts, thoughts, tools, dates, starts and ends of turns.
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../../base/errors.ts'
import { spmSpec } from '../testing/tiny.ts'
import { createTokenizer } from '../tokenize/read/create.ts'
import { ChatTemplate, encodeChat, turnEndIds } from './chat-template.ts'

const SYSTEM = { role: 'system', content: 'Be brief.' }
const HELLO = { role: 'user', content: 'hello' }
const ANSWER = { role: 'assistant', content: 'hi' }
const AGAIN = { role: 'user', content: 'again' }
const TOOL = {
  type: 'function',
  function: { name: 'f', parameters: { type: 'object', properties: { x: { type: 'number' } } } },
}

/** The message with which a template rejects its input. */
function refusalOf(render: () => unknown): string {
  try {
    render()
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'format') return error.message
    throw error
  }
  throw new Error('nothing was rejected')
}

describe('gemma2, gemma3', () => {
  /** The system text precedes the first user message; the assistant's role is called "model". */
  const GEMMA3 =
    "{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}{%- if messages[0]['content'] is string -%}" +
    "{%- set prefix = messages[0]['content'] + '\n\n' -%}{%- endif -%}{%- set turns = messages[1:] -%}{%- else -%}" +
    "{%- set prefix = '' -%}{%- set turns = messages -%}{%- endif -%}{%- for message in turns -%}" +
    "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('roles must alternate') }}{%- endif -%}" +
    "{%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}" +
    "{{ '<start_of_turn>' + role + '\n' + (prefix if loop.first else '') }}" +
    "{%- if message['content'] is string -%}{{ message['content'] | trim }}{%- elif message['content'] is iterable -%}" +
    "{%- for part in message['content'] -%}{{ part['text'] | trim }}{%- endfor -%}{%- endif -%}{{ '<end_of_turn>\n' }}{%- endfor -%}" +
    "{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}"

  test('the system text is folded into the first turn, and BOS comes from the template', () => {
    const prompt = new ChatTemplate(GEMMA3).render([SYSTEM, HELLO, ANSWER, AGAIN], { bosToken: '<bos>' })
    expect(prompt).toBe(
      '<bos><start_of_turn>user\nBe brief.\n\nhello<end_of_turn>\n<start_of_turn>model\nhi<end_of_turn>\n' +
        '<start_of_turn>user\nagain<end_of_turn>\n<start_of_turn>model\n',
    )
  })

  test('gemma2 rejects a system text with its own message, and both require alternating roles', () => {
    const gemma2 = new ChatTemplate(
      "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}",
    )
    expect(refusalOf(() => gemma2.render([SYSTEM, HELLO]))).toMatch(/System role not supported/)
    const gemma3 = new ChatTemplate(GEMMA3)
    expect(refusalOf(() => gemma3.render([HELLO, AGAIN]))).toMatch(/roles must alternate/)
  })

  test('the template’s BOS and the tokenizer’s BOS are not doubled', () => {
    const tokenizer = createTokenizer(spmSpec(['\u2581hello']))
    const bosToken = tokenizer.tokenText(tokenizer.bosId!)
    const ids = encodeChat(tokenizer, new ChatTemplate(GEMMA3).render([HELLO], { bosToken }))
    expect(ids.filter((id) => id === tokenizer.bosId)).toHaveLength(1)
    expect(encodeChat(tokenizer, 'hello')[0]).toBe(tokenizer.bosId)
  })
})

describe('qwen3, qwen3moe', () => {
  /** Earlier thoughts are omitted; with thinking off, an empty block is written for the model. */
  const QWEN3 =
    "{%- if tools %}{{- '<|im_start|>system\n' }}{%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}" +
    "{{- '# Tools\n\n<tools>' }}{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}{{- '\n</tools><|im_end|>\n' }}" +
    "{%- elif messages[0].role == 'system' %}{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}" +
    '{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}' +
    '{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}' +
    "{%- if ns.multi_step_tool and message.role == 'user' and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}" +
    '{%- set ns.multi_step_tool = false %}{%- set ns.last_query_index = index %}{%- endif %}{%- endfor %}' +
    "{%- for message in messages %}{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}" +
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}" +
    "{%- elif message.role == 'assistant' %}{%- set content = message.content %}{%- set thought = '' %}" +
    "{%- if '</think>' in content %}{%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}" +
    "{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}" +
    "{%- if loop.index0 > ns.last_query_index and (loop.last or thought) %}{{- '<|im_start|>assistant\n<think>\n' + thought + '\n</think>\n\n' + content }}" +
    "{%- else %}{{- '<|im_start|>assistant\n' + content }}{%- endif %}" +
    "{%- if message.tool_calls %}{%- for call in message.tool_calls %}{%- if (loop.first and content) or (not loop.first) %}{{- '\n' }}{%- endif %}" +
    '{%- if call.function %}{%- set call = call.function %}{%- endif %}{{- \'<tool_call>\n{"name": "\' + call.name + \'", "arguments": \' }}' +
    "{%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}{%- endif %}{{- '}\n</tool_call>' }}{%- endfor %}{%- endif %}" +
    "{{- '<|im_end|>\n' }}{%- elif message.role == 'tool' %}{%- if loop.first or (messages[loop.index0 - 1].role != 'tool') %}{{- '<|im_start|>user' }}{%- endif %}" +
    "{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}{%- if loop.last or (messages[loop.index0 + 1].role != 'tool') %}{{- '<|im_end|>\n' }}{%- endif %}" +
    "{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}" +
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}{%- endif %}"
  const template = new ChatTemplate(QWEN3)

  test('thoughts of earlier turns are omitted', () => {
    const thinking = { role: 'assistant', content: '<think>\nhm\n</think>\n\nhi' }
    expect(template.render([SYSTEM, HELLO, thinking, AGAIN])).toBe(
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nhi<|im_end|>\n' +
        '<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n',
    )
    // While tools answer, the thoughts that led to the calls are kept.
    const calls = {
      ...thinking,
      tool_calls: [{ type: 'function', function: { name: 'f', arguments: { x: 1 } } }],
    }
    const results = [1, 2].map((value) => ({ role: 'tool', content: `${value}` }))
    expect(template.render([HELLO, calls, ...results])).toBe(
      '<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\nhi\n<tool_call>\n' +
        '{"name": "f", "arguments": {"x": 1}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n1\n</tool_response>\n' +
        '<tool_response>\n2\n</tool_response><|im_end|>\n<|im_start|>assistant\n',
    )
  })

  test('tools are listed in the system turn, one per line, as Python writes JSON', () => {
    expect(template.render([SYSTEM, HELLO], { tools: [TOOL] })).toBe(
      '<|im_start|>system\nBe brief.\n\n# Tools\n\n<tools>\n' +
        '{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}}}' +
        '\n</tools><|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n',
    )
  })
})

test('phi3: each role has its own marker, and all turns end with the same one', () => {
  const template = new ChatTemplate(
    "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}" +
      "{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}" +
      "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}" +
      "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
  )
  expect(template.render([SYSTEM, HELLO])).toBe(
    '<|system|>\nBe brief.<|end|>\n<|user|>\nhello<|end|>\n<|assistant|>\n',
  )
  const options = { addGenerationPrompt: false, eosToken: '<|endoftext|>' }
  expect(template.render([HELLO, ANSWER], options)).toBe(
    '<|user|>\nhello<|end|>\n<|assistant|>\nhi<|end|>\n<|endoftext|>',
  )
})

test('smollm3: a date, a mode that the system text may set, and answers between training markers', () => {
  const template = new ChatTemplate(
    "{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}{%- set mode = '/think' if enable_thinking else '/no_think' -%}" +
      "{%- if messages[0].role == 'system' -%}{%- set text = messages[0].content -%}{%- if '/no_think' in text -%}{%- set mode = '/no_think' -%}{%- endif -%}" +
      "{%- set own = text.replace('/no_think', '').replace('/think', '').rstrip() -%}{%- endif -%}" +
      "{{- '<|im_start|>system\n## Metadata\n\n' -}}{%- set today = strftime_now('%d %B %Y') -%}{{- 'Today Date: ' ~ today ~ '\n' -}}" +
      "{{- 'Reasoning Mode: ' + mode + '\n\n## Custom Instructions\n\n' -}}{{- own if own else 'You are helpful.' -}}{{- '\n\n<|im_end|>\n' -}}" +
      "{%- for message in messages -%}{%- set content = message.content if message.content is string else '' -%}" +
      "{%- if message.role == 'user' -%}{{ '<|im_start|>user\n' + content + '<|im_end|>\n' }}" +
      "{%- elif message.role == 'assistant' -%}{% generation %}{%- if mode == '/think' -%}{{ '<|im_start|>assistant\n' + content.lstrip('\n') + '<|im_end|>\n' }}" +
      "{%- else -%}{{ '<|im_start|>assistant\n<think>\n\n</think>\n' + content.lstrip('\n') + '<|im_end|>\n' }}{%- endif -%}{% endgeneration %}{%- endif -%}{%- endfor -%}" +
      "{%- if add_generation_prompt -%}{%- if mode == '/think' -%}{{ '<|im_start|>assistant\n' }}{%- else -%}{{ '<|im_start|>assistant\n<think>\n\n</think>\n' }}{%- endif -%}{%- endif -%}",
  )
  const now = new Date(2026, 10, 3)
  expect(template.render([HELLO, ANSWER, AGAIN], { now })).toBe(
    '<|im_start|>system\n## Metadata\n\nToday Date: 03 November 2026\nReasoning Mode: /think\n\n## Custom Instructions\n\n' +
      'You are helpful.\n\n<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nhi<|im_end|>\n' +
      '<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n',
  )
  const brief = template.render([{ role: 'system', content: 'Be brief. /no_think' }, HELLO], { now })
  expect(brief).toContain('Reasoning Mode: /no_think\n\n## Custom Instructions\n\nBe brief.\n\n<|im_end|>')
  expect(brief).toMatch(/<\|im_start\|>assistant\n<think>\n\n<\/think>\n$/)
})

test('granite, granitehybrid: roles between markers, and tools in their own turn, indented', () => {
  const template = new ChatTemplate(
    "{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}" +
      "{%- else %}{%- set system_message = 'Knowledge Cutoff Date: April 2024.\nToday\\'s Date: ' + strftime_now('%B %d, %Y') + '.' %}{%- set loop_messages = messages %}{%- endif %}" +
      "{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\n' }}" +
      "{%- if tools %}{{- '<|start_of_role|>available_tools<|end_of_role|>' }}{{- tools | tojson(indent=4) }}{{- '<|end_of_text|>\n' }}{%- endif %}" +
      "{%- for message in loop_messages %}{{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\n' }}" +
      "{%- if loop.last and add_generation_prompt %}{{- '<|start_of_role|>assistant' }}{%- if controls %}{{- ' ' + controls | tojson }}{%- endif %}{{- '<|end_of_role|>' }}{%- endif %}{%- endfor %}",
  )
  const now = new Date(2026, 10, 3)
  expect(template.render([HELLO], { now })).toBe(
    "<|start_of_role|>system<|end_of_role|>Knowledge Cutoff Date: April 2024.\nToday's Date: November 03, 2026.<|end_of_text|>\n" +
      '<|start_of_role|>user<|end_of_role|>hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>',
  )
  expect(template.render([SYSTEM, HELLO], { tools: [{ name: 'f' }] })).toContain(
    '<|start_of_role|>available_tools<|end_of_role|>[\n    {\n        "name": "f"\n    }\n]<|end_of_text|>\n',
  )
})

test('olmo2, olmoe: BOS is the end-of-text token, which also ends each answer', () => {
  const template = new ChatTemplate(
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}" +
      "{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}" +
      "{% if not loop.last %}{{ '<|assistant|>\n' + message['content'] + eos_token + '\n' }}{% else %}{{ '<|assistant|>\n' + message['content'] + eos_token }}{% endif %}{% endif %}" +
      "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}",
  )
  const tokens = { bosToken: '<|endoftext|>', eosToken: '<|endoftext|>' }
  expect(template.render([HELLO, ANSWER, AGAIN], tokens)).toBe(
    '<|endoftext|><|user|>\nhello\n<|assistant|>\nhi<|endoftext|>\n<|user|>\nagain\n<|assistant|>\n',
  )
})

test('lfm2: the list of tools ends the system text, and content other than text is written as JSON', () => {
  const template = new ChatTemplate(
    "{{- bos_token -}}{%- set system_prompt = '' -%}{%- set ns = namespace(system_prompt='') -%}{%- if messages[0]['role'] == 'system' -%}" +
      "{%- set ns.system_prompt = messages[0]['content'] -%}{%- set messages = messages[1:] -%}{%- endif -%}" +
      "{%- if tools -%}{%- set ns.system_prompt = ns.system_prompt + ('\n' if ns.system_prompt else '') + 'List of tools: <|tool_list_start|>[' -%}" +
      '{%- for tool in tools -%}{%- if tool is not string -%}{%- set tool = tool | tojson -%}{%- endif -%}{%- set ns.system_prompt = ns.system_prompt + tool -%}' +
      "{%- if not loop.last -%}{%- set ns.system_prompt = ns.system_prompt + ', ' -%}{%- endif -%}{%- endfor -%}{%- set ns.system_prompt = ns.system_prompt + ']<|tool_list_end|>' -%}{%- endif -%}" +
      "{%- if ns.system_prompt -%}{{- '<|im_start|>system\n' + ns.system_prompt + '<|im_end|>\n' -}}{%- endif -%}" +
      "{%- for message in messages -%}{{- '<|im_start|>' + message['role'] + '\n' -}}{%- set content = message['content'] -%}" +
      "{%- if content is not string -%}{%- set content = content | tojson -%}{%- endif -%}{%- if message['role'] == 'tool' -%}" +
      "{%- set content = '<|tool_response_start|>' + content + '<|tool_response_end|>' -%}{%- endif -%}{{- content + '<|im_end|>\n' -}}{%- endfor -%}" +
      "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}",
  )
  const told = [SYSTEM, HELLO, ANSWER, { role: 'tool', content: '{"x": 1}' }]
  expect(template.render(told, { bosToken: '<|startoftext|>', tools: [{ name: 'f' }, { name: 'g' }] })).toBe(
    '<|startoftext|><|im_start|>system\nBe brief.\nList of tools: <|tool_list_start|>[{"name": "f"}, {"name": "g"}]<|tool_list_end|><|im_end|>\n' +
      '<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nhi<|im_end|>\n' +
      '<|im_start|>tool\n<|tool_response_start|>{"x": 1}<|tool_response_end|><|im_end|>\n<|im_start|>assistant\n',
  )
  expect(template.render([HELLO])).toBe('<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n')
})

test('mistral: tools and the system text go into the last user turn, answers end with EOS', () => {
  const template = new ChatTemplate(
    "{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}" +
      '{%- else %}{%- set loop_messages = messages %}{%- endif %}{%- if not tools is defined %}{%- set tools = none %}{%- endif %}' +
      "{%- set user_messages = loop_messages | selectattr('role', 'equalto', 'user') | list %}{{- bos_token }}" +
      "{%- for message in loop_messages %}{%- if message['role'] == 'user' %}{%- if tools is not none and (message == user_messages[-1]) %}" +
      "{{- '[AVAILABLE_TOOLS] [' }}{%- for tool in tools %}{{- tool | tojson }}{%- if not loop.last %}{{- ', ' }}{%- else %}{{- ']' }}{%- endif %}{%- endfor %}{{- '[/AVAILABLE_TOOLS]' }}{%- endif %}" +
      "{%- if loop.last and system_message is defined %}{{- '[INST] ' + system_message + '\n\n' + message['content'] + '[/INST]' }}" +
      "{%- else %}{{- '[INST] ' + message['content'] + '[/INST]' }}{%- endif %}" +
      "{%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] | trim + eos_token }}{%- endif %}{%- endfor %}",
  )
  const tokens = { bosToken: '<s>', eosToken: '</s>' }
  expect(template.render([SYSTEM, HELLO, ANSWER, AGAIN], { ...tokens, tools: [{ name: 'f' }] })).toBe(
    '<s>[INST] hello[/INST] hi</s>[AVAILABLE_TOOLS] [{"name": "f"}][/AVAILABLE_TOOLS][INST] Be brief.\n\nagain[/INST]',
  )
  expect(template.render([HELLO], tokens)).toBe('<s>[INST] hello[/INST]')
  const tokenizer = createTokenizer(spmSpec(['\u2581hello']))
  expect(turnEndIds(tokenizer, template)).toContain(tokenizer.eosId)
})
