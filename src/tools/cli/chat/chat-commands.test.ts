// Commands of `halfbyte chat` on a conversation with a toy model.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encode } from 'fast-png'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Engine } from '../../../engine/api/engine.ts'
import { GREEDY, openToy } from '../../../engine/api/testing/toy-engine.ts'
import { runChatCommand } from './chat-commands.ts'
import { Conversation } from './conversation.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-chat-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** The model that `/model` opens. */
let next: () => Promise<Engine> = openToy

const newChat = async (engine: Promise<Engine> = openToy(), system?: string) =>
  new Conversation(await engine, { system, reply: GREEDY, open: () => next() })

async function talked(system?: string): Promise<Conversation> {
  const chat = await newChat(openToy(), system)
  await chat.say('hello').result
  return chat
}

/** What a command says. */
async function said(line: string, chat: Conversation): Promise<string> {
  const result = (await runChatCommand(line, chat))?.said
  if (typeof result !== 'string') throw new Error(`${line} says nothing`)
  return result
}

test('/reset forgets the messages', async () => {
  const chat = await talked()
  expect(chat.messages).toHaveLength(2)
  expect(await said('/reset', chat)).toBe('conversation cleared')
  expect(chat.messages).toEqual([])
})

test('/save writes the conversation, /load continues it, and the error for a path that cannot be written names it', async () => {
  const chat = await talked('be kind')
  const path = join(folder, 'chat.json')
  expect(await said(`/save ${path} `, chat)).toBe(`2 messages are in ${path}`)
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ system: 'be kind', messages: chat.messages })
  expect(await said('/save', chat)).toMatch(/needs a file/)
  await expect(runChatCommand(`/save ${folder}/none/chat.json`, chat)).rejects.toMatchObject({
    code: 'unsupported',
  })
  const other = await newChat()
  expect(await said(`/load ${path}`, other)).toBe('2 messages loaded')
  expect([other.system, other.messages]).toEqual(['be kind', chat.messages])
  const [one, two] = await Promise.all([chat.say('again').result, other.say('again').result])
  expect(two.tokens).toEqual(one.tokens)
})

test.each([
  ['{}', 'format'],
  ['[]', 'format'],
  ['{"messages": [{"role": "nobody"}]}', 'format'],
  ['{"messages": [], "system": 7}', 'format'],
])('/load of %s leaves the conversation as it was', async (text, code) => {
  const chat = await talked('be kind')
  const path = join(folder, 'other.json')
  await writeFile(path, text)
  await expect(runChatCommand(`/load ${path}`, chat)).rejects.toMatchObject({ code })
  expect(chat.system).toBe('be kind')
  await chat.say('again').result
  expect(chat.messages).toHaveLength(4)
})

test('/retry replaces the last answer, and says so if there is none', async () => {
  const chat = await talked()
  const [, answer] = chat.messages
  const result = (await runChatCommand('/retry', chat))?.said
  if (result === undefined || typeof result === 'string') throw new Error('no answer')
  await result.result
  expect(chat.messages).toEqual([{ role: 'user', content: 'hello' }, answer])
  await chat.reset()
  await expect(runChatCommand('/retry', chat)).rejects.toMatchObject({ code: 'unsupported' })
})

test('/system shows, replaces and removes the system prompt, and keeps the messages', async () => {
  const chat = await talked()
  expect(await said('/system', chat)).toBe('there is no system prompt')
  await chat.say('again').result
  await runChatCommand('/system be kind to all', chat)
  expect(await said('/system', chat)).toBe('be kind to all')
  expect(chat.messages).toHaveLength(4)
  const { usage: steered } = await chat.retry().result
  await runChatCommand('/system -', chat)
  expect(chat.system).toBeUndefined()
  const { usage: plain } = await chat.retry().result
  expect(plain.promptTokens).toBeLessThan(steered.promptTokens)
})

test('/file goes before the next message only', async () => {
  const chat = await talked()
  const path = join(folder, 'notes.txt')
  await writeFile(path, 'a note')
  expect(await said(`/file ${path}`, chat)).toBe(`${path} goes with the next message`)
  await chat.say('what is this?').result
  await chat.say('and now?').result
  const asked = chat.messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  expect(asked).toEqual(['hello', 'notes.txt:\n```\na note\n```\n\nwhat is this?', 'and now?'])
  await expect(runChatCommand(`/file ${folder}/none.txt`, chat)).rejects.toMatchObject({ code: 'format' })
})

/** Answers a command that answers. */
async function answered(
  line: string,
  chat: Conversation,
  edit?: (text: string) => Promise<string | undefined>,
) {
  const result = (await runChatCommand(line, chat, { edit }))?.said
  if (result === undefined || typeof result === 'string') throw new Error(`${line} gives no answer`)
  await result.result
}

test('/edit replaces the last message, by a text or in an editor', async () => {
  const chat = await talked()
  await chat.say('agian').result
  await answered('/edit again', chat)
  const asked = () => chat.messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  expect(asked()).toEqual(['hello', 'again'])
  expect(chat.messages.at(-1)?.content).toContain('again')
  await answered('/edit', chat, async (text) => `${text} and again\n`)
  expect(asked()).toEqual(['hello', 'again and again'])
})

test.each([
  ['nothing', async () => undefined],
  ['an empty text', async () => ' \n'],
  ['the same text', async (text: string) => `${text}\n`],
])('/edit leaves the conversation as it was if the editor returns %s', async (_, edit) => {
  const chat = await talked()
  const { messages } = chat
  expect(await runChatCommand('/edit', chat, { edit })).toEqual({ said: 'the message stays as it was' })
  expect(chat.messages).toEqual(messages)
})

test('/edit without an editor asks for the text, and without a message says so', async () => {
  const chat = await talked()
  expect(await said('/edit', chat)).toMatch(/^\/edit needs the new text here/)
  await expect(runChatCommand('/edit x', await newChat())).rejects.toThrow('there is no message to edit yet')
})

const PICTURE = encode({ width: 2, height: 2, channels: 3, data: new Uint8Array(12) })

/** A toy engine that says that it sees. */
async function seeing(): Promise<Engine> {
  const engine = await openToy()
  Object.assign(engine, { model: { ...engine.model, seesImages: true } })
  return engine
}

test('/image is for models that see, and for pictures', async () => {
  const path = join(folder, 'a.png')
  await writeFile(path, PICTURE)
  const blind = await talked()
  await expect(said(`/image ${path}`, blind)).rejects.toThrow(
    /^toy does not see pictures; choose a vision model with \/model, or start the chat with its tower in --vision$/,
  )
  const chat = await newChat(seeing())
  expect(await said(`/image ${path}`, chat)).toBe(`${path} goes with the next message`)
  await writeFile(path, 'no picture')
  await expect(said(`/image ${path}`, chat)).rejects.toMatchObject({ code: 'format' })
  await expect(said(`/image ${path}.gone`, chat)).rejects.toMatchObject({ code: 'format' })
})

test('a picture goes with the next message, and /save and /load keep it', async () => {
  const [picture, saved] = [join(folder, 'a.png'), join(folder, 'chat.json')]
  await writeFile(picture, PICTURE)
  await writeFile(
    saved,
    JSON.stringify({
      messages: [
        {
          role: 'user',
          content: 'see',
          images: [{ type: 'image/png', base64: Buffer.from(PICTURE).toString('base64') }],
        },
      ],
    }),
  )
  const chat = await newChat(seeing())
  expect(await said(`/load ${saved}`, chat)).toBe('1 messages loaded')
  await said(`/save ${saved}2`, chat)
  expect(JSON.parse(await readFile(`${saved}2`, 'utf8'))).toEqual(JSON.parse(await readFile(saved, 'utf8')))
  await said(`/image ${picture}`, chat)
  // The toy has no tower, so the engine rejects the message, which stays unsent.
  await expect(chat.say('what is this?').result).rejects.toMatchObject({ code: 'unsupported' })
  expect(chat.messages).toHaveLength(1)
})

test('/model continues the conversation with another model, and disposes of the first', async () => {
  const first = await openToy()
  const chat = await newChat(Promise.resolve(first), 'be kind')
  await chat.say('hello').result
  expect(await said('/model', chat)).toBe('toy')
  expect(await said('/model other.gguf', chat)).toBe('toy continues the conversation')
  await chat.say('again').result
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  expect(chat.system).toBe('be kind')
  await expect(first.memory()).rejects.toMatchObject({ code: 'disposed' })
})

test('a model that cannot be loaded, or does not see the pictures, leaves the conversation as it was', async () => {
  const chat = await newChat(seeing())
  const path = join(folder, 'a.png')
  await writeFile(path, PICTURE)
  await said(`/image ${path}`, chat)
  await expect(said('/model other', chat)).rejects.toThrow(
    /^toy does not see, and the conversation has 1 picture;/,
  )
  next = () => Promise.reject(new Error('no such model'))
  await expect(said('/model other', chat)).rejects.toThrow('no such model')
  next = openToy
  await chat.reset()
  await chat.say('hello').result
  expect(chat.messages).toHaveLength(2)
})

test('/stats counts the last answer', async () => {
  const chat = await newChat()
  expect(await said('/stats', chat)).toMatch(/^context: 0 of \d+ tokens; nothing has been answered$/)
  const { usage } = await chat.say('hello').result
  const page = await said('/stats', chat)
  expect(page).toContain(`prompt: ${usage.promptTokens} tokens, 0 of them cached`)
  expect(page).toContain(`answer: ${usage.completionTokens} tokens`)
})

test('/help lists the commands, and an unknown command suggests it', async () => {
  const chat = await talked()
  const page = await said('/help', chat)
  for (const name of [
    'help',
    'reset',
    'retry',
    'edit',
    'system',
    'model',
    'stats',
    'file',
    'image',
    'save',
    'load',
  ])
    expect(page).toMatch(new RegExp(`^/${name}( [A-Z]+)? {2}`, 'm'))
  expect(await said('/constructor', chat)).toBe('there is no command /constructor; /help lists them')
})

test.each(['hello', ' /help', '/etc/passwd', '/usr is a folder', '/', 'a /reset', '/help\nme'])(
  '%j is a message',
  async (line) => {
    const chat = await talked()
    expect(await runChatCommand(line, chat)).toBeUndefined()
    expect(chat.messages).toHaveLength(2)
  },
)
