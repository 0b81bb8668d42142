// OpenAI's SDK. In: the engine as a fetch. Out: an answer, a stream, a tool call, an object, a response, a
// text's scores, an error, and vectors from the engine and an encoder.
import { openaiFetch } from 'halfbyte/openai'
import OpenAI from 'openai'
import { areSame, engine, loadEncoder, PROMPT, serve, TEXTS } from './engine.js'

serve(async () => {
  const client = new OpenAI({ apiKey: 'none', fetch: openaiFetch(engine), dangerouslyAllowBrowser: true })
  const settings = { model: 'halfbyte', temperature: 0, max_completion_tokens: 24 }
  const messages = [{ role: 'user', content: PROMPT }]
  const answer = await client.chat.completions.create({ ...settings, messages })
  const stream = await client.chat.completions.create({ ...settings, messages, stream: true })
  let streamed = ''
  for await (const { choices } of stream) streamed += choices[0]?.delta.content ?? ''
  const schema = {
    type: 'object',
    properties: { name: { enum: ['Tom', 'Mia'] }, lives: { const: 9 } },
    required: ['name', 'lives'],
    additionalProperties: false,
  }
  const object = await client.chat.completions.create({
    ...settings,
    max_completion_tokens: 64,
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'cat', schema, strict: true } },
  })
  const parameters = {
    type: 'object',
    properties: { a: { const: 2 }, b: { const: 3 } },
    required: ['a', 'b'],
    additionalProperties: false,
  }
  const calling = await client.chat.completions.create({
    ...settings,
    max_completion_tokens: 64,
    messages: [{ role: 'user', content: 'What is 2 + 3?' }],
    tools: [{ type: 'function', function: { name: 'add', parameters } }],
    tool_choice: 'required',
  })
  const vectors = await client.embeddings.create({ model: 'halfbyte', input: ['a cat', 'a dog'] })
  const models = await client.models.list()
  const scored = await client.completions.create({
    model: 'halfbyte',
    prompt: [[5, 6, 7]],
    max_tokens: 1,
    logprobs: 1,
    echo: true,
  })
  const response = await client.responses.create({
    model: 'halfbyte',
    input: PROMPT,
    temperature: 0,
    max_output_tokens: 24,
  })
  const wrong = await client.completions.create({ model: 'halfbyte', prompt: [-1] }).catch((error) => error)
  const embedder = await loadEncoder('/encoder/')
  const searching = new OpenAI({
    apiKey: 'none',
    fetch: openaiFetch(engine, { embedder }),
    dangerouslyAllowBrowser: true,
  })
  // Without a format, the SDK requests base64 and decodes it.
  const short = await searching.embeddings.create({ model: 'encoder', input: TEXTS, dimensions: 5 })
  const floats = await searching.embeddings.create({
    model: 'encoder',
    input: TEXTS,
    encoding_format: 'float',
  })
  const own = await embedder.embed(TEXTS)
  const ownShort = await embedder.embed(TEXTS, { dimensions: 5 })
  return {
    text: answer.choices[0].message.content,
    streamed,
    finishReason: answer.choices[0].finish_reason,
    object: JSON.parse(object.choices[0].message.content),
    calls: calling.choices[0].message.tool_calls.map(({ function: { name, arguments: input } }) => ({
      toolName: name,
      input: JSON.parse(input),
    })),
    vectors: vectors.data.map(({ embedding }) => embedding.length > 0),
    models: models.data.length,
    response: response.output_text,
    scored: scored.choices[0].logprobs.tokens.length,
    isRejected: wrong instanceof OpenAI.BadRequestError && wrong.param === 'prompt',
    encoded: [
      areSame(
        short.data.map(({ embedding }) => embedding),
        ownShort.vectors,
      ),
      areSame(
        floats.data.map(({ embedding }) => embedding),
        own.vectors,
      ),
    ],
  }
})
