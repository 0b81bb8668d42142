import { StringOutputParser } from '@langchain/core/output_parsers'
import { ChatPromptTemplate } from '@langchain/core/prompts'
import { ChatOpenAI } from '@langchain/openai'
import { Engine } from 'halfbyte'
import model from 'halfbyte/models/halfbyte-stories.hbm?url'
import { openaiFetch } from 'halfbyte/openai'

const out = document.querySelector('#out')
const failure = document.querySelector('[role=alert]')
const form = document.querySelector('form')
const button = form.querySelector('button')
let chain

async function load() {
  const engine = await Engine.load(model)
  const chat = new ChatOpenAI({
    apiKey: 'none',
    model: 'halfbyte',
    maxTokens: 200,
    configuration: {
      baseURL: 'https://local.invalid/v1',
      dangerouslyAllowBrowser: true, // There is no key that a visitor could steal.
      fetch: openaiFetch(engine),
    },
  })
  return ChatPromptTemplate.fromMessages([['human', '{question}']])
    .pipe(chat)
    .pipe(new StringOutputParser())
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  button.disabled = true
  failure.textContent = ''
  out.textContent = ''
  try {
    chain ??= await load()
    const question = form.querySelector('input').value
    for await (const text of await chain.stream({ question })) out.append(text)
  } catch (error) {
    failure.textContent = error.message
  } finally {
    button.disabled = false
  }
})
