import { Engine } from 'halfbyte'
import model from 'halfbyte/models/halfbyte-stories.hbm?url'
import { openaiFetch } from 'halfbyte/openai'
import OpenAI from 'openai'

const out = document.querySelector('#out')
const failure = document.querySelector('[role=alert]')
const form = document.querySelector('form')
const button = form.querySelector('button')
const messages = []
let client

async function load() {
  const engine = await Engine.load(model)
  return new OpenAI({
    apiKey: 'none',
    baseURL: 'https://local.invalid/v1',
    dangerouslyAllowBrowser: true, // There is no key that a visitor could steal.
    fetch: openaiFetch(engine),
  })
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  button.disabled = true
  failure.textContent = ''
  out.textContent = ''
  try {
    client ??= await load()
    const question = { role: 'user', content: form.querySelector('input').value }
    const stream = await client.chat.completions.create({
      model: 'halfbyte',
      messages: [...messages, question],
      max_completion_tokens: 200,
      stream: true,
    })
    for await (const { choices } of stream) out.append(choices[0]?.delta.content ?? '')
    messages.push(question, { role: 'assistant', content: out.textContent })
  } catch (error) {
    failure.textContent = error.message
  } finally {
    button.disabled = false
  }
})
