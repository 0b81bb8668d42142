// LangChain. In: the engine as the `fetch` of its OpenAI model. Out: an answer, a stream, an object, a tool
// call, vectors.
import { HumanMessage, SystemMessage } from '@langchain/core/messages'
import { ChatPromptTemplate } from '@langchain/core/prompts'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { openaiFetch } from 'halfbyte/openai'
import { z } from 'zod'
import { engine, PROMPT, serve } from './engine.js'

serve(async () => {
  const settings = {
    model: 'halfbyte',
    apiKey: 'none',
    configuration: { fetch: openaiFetch(engine), dangerouslyAllowBrowser: true },
  }
  const model = new ChatOpenAI({ ...settings, temperature: 0, maxTokens: 24 })
  const answer = await model.invoke([new HumanMessage(PROMPT)])
  let streamed = ''
  for await (const chunk of await model.stream([new HumanMessage(PROMPT)])) streamed += chunk.content
  const long = new ChatOpenAI({ ...settings, temperature: 0, maxTokens: 64 })
  const cat = z.object({ name: z.enum(['Tom', 'Mia']), lives: z.literal(9) })
  const object = await long.withStructuredOutput(cat, { method: 'jsonSchema' }).invoke('A cat, please.')
  const add = tool(({ a, b }) => a + b, {
    name: 'add',
    description: 'Adds two numbers.',
    schema: z.object({ a: z.literal(2), b: z.literal(3) }),
  })
  const calling = await long.bindTools([add], { tool_choice: 'required' }).invoke('What is 2 + 3?')
  const chain = ChatPromptTemplate.fromMessages([['human', 'Tell me a story about {what}.']]).pipe(model)
  const chained = await chain.invoke({ what: 'a cat' })
  const told = await model.invoke([new SystemMessage('Be brief.'), new HumanMessage('Hello')])
  const embeddings = await new OpenAIEmbeddings(settings).embedDocuments(['a cat', 'a dog'])
  return {
    text: answer.content,
    streamed,
    chained: chained.content,
    hasSystem: told.content.length > 0,
    object,
    calls: calling.tool_calls.map(({ name, args }) => ({ toolName: name, input: args })),
    vectors: embeddings.map((vector) => vector.length > 0),
  }
})
