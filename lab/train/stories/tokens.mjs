// Checks a model's tokenizer and template on examples. In: a pack, and JSON lines {"text", "ids"} or
// {"messages", "tools", "prompt"} as Python writes them. Out: the number that agree; on a difference, that
// difference and exit code 1.
import { readFileSync } from 'node:fs'
import { withModel } from '../../../src/tools/cli/models/model.ts'
import { ChatTemplate } from '../../../src/core/text/chat/chat-template.ts'

const [, , model, path] = process.argv
const examples = readFileSync(path, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
await withModel(model, { threads: 1 }, new AbortController().signal, async ({ tokenizer }) => {
  const template = new ChatTemplate(tokenizer.chatTemplate)
  const tokens = { bosToken: '<|bos|>', eosToken: '<|end|>' }
  for (const { text, ids, messages, tools, prompt, reply } of examples) {
    const [found, wanted] =
      text === undefined
        ? [template.render(messages, { ...tokens, tools, addGenerationPrompt: reply }), prompt]
        : [JSON.stringify(tokenizer.encode(text, { parseSpecial: true })), JSON.stringify(ids)]
    if (found === wanted) continue
    console.error(`differs:\n${wanted}\n${found}`)
    process.exitCode = 1
    return
  }
  console.log(`${examples.length} examples agree`)
})
