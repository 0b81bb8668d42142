"""The chat template, in Jinja and in Python: from messages and tools to the text of a conversation."""
import json
import re

from stories.spm import CALL, CALL_END

#: A tool becomes one line of JSON: name, description, and the type of each parameter.
TEMPLATE = (
    "{{ bos_token }}"
    "{%- set first = messages[0]['content'] if messages and messages[0]['role'] == 'system' else '' %}"
    "{%- if first or tools %}{{ '<|system|>' + first }}"
    "{%- if tools %}{{ '\n<tools>' if first else '<tools>' }}"
    "{%- for tool in tools %}{%- set f = tool['function'] %}"
    "{{ '\n{\"name\": ' + f['name'] | tojson + ', \"description\": ' + f['description'] | tojson"
    " + ', \"parameters\": {' }}"
    "{%- for key, value in f['parameters']['properties'] | items %}"
    "{{ (', ' if not loop.first else '') + key | tojson + ': ' + (value['type'] or 'any') | tojson }}"
    "{%- endfor %}{{ '}}' }}{%- endfor %}{{ '\n</tools>' }}{%- endif %}{{ '<|end|>' }}{%- endif %}"
    "{%- for message in messages %}{%- if not (loop.first and message['role'] == 'system') %}"
    "{{ '<|' + message['role'] + '|>' + (message['content'] or '') }}"
    "{%- for call in message['tool_calls'] or [] %}"
    "{{ '<tool_call>{\"name\": ' + call['function']['name'] | tojson"
    " + ', \"arguments\": ' + call['function']['arguments'] | tojson + '}</tool_call>' }}"
    "{%- endfor %}{{ '<|end|>' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|assistant|>' }}{%- endif %}"
)
WRITTEN_CALL = re.compile(rf'{CALL}\s*(.*?)\s*{CALL_END}', re.S)


def described(tool):
    """The line of a tool in the system turn."""
    f = tool.get('function', tool)
    properties = f.get('parameters', {}).get('properties', {})
    kinds = {key: value.get('type') or 'any' for key, value in properties.items()}
    return json.dumps({'name': f['name'], 'description': f.get('description', ''), 'parameters': kinds},
                      ensure_ascii=False)


def turn_texts(messages, tools=()):
    """Pairs of a role and the text of its turn, with the tools' lines in an initial system turn."""
    rest = list(messages)
    first = rest.pop(0)['content'] if rest and rest[0]['role'] == 'system' else ''
    if tools:
        block = '\n'.join(['<tools>', *map(described, tools), '</tools>'])
        first = f'{first}\n{block}' if first else block
    turns = [('system', first)] if first else []
    for message in rest:
        text = WRITTEN_CALL.sub(lambda m: f'{CALL}{m[1]}{CALL_END}', message.get('content') or '')
        for call in message.get('tool_calls') or []:
            f = call['function']
            written = json.dumps({'name': f['name'], 'arguments': f['arguments']}, ensure_ascii=False)
            text += f'{CALL}{written}{CALL_END}'
        turns.append((message['role'], text))
    return turns


def render(messages, tools=(), reply=False):
    """The text that the template renders; with reply, up to the start of the assistant's turn."""
    turns = ''.join(f'<|{role}|>{text}<|end|>' for role, text in turn_texts(messages, tools))
    return '<|bos|>' + turns + ('<|assistant|>' if reply else '')
