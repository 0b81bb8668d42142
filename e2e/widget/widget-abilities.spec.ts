// Tools and documents. In: Halfbyte Stories, which calls tools, and a page's functions and texts. Out:
// whether calls run and are shown, and passages are quoted with their source.

import { readFileSync } from 'node:fs'
import type { HalfbyteChat } from '../../src/ui/widget/element.ts'
import { bertFolder, byPath, randomBert } from '../../test/conformance/testing/random-bert.ts'
import { filesBelow } from '../model-server.ts'
import { blocked } from '../policy.ts'
import { answersOf, chat, expect, field, MODEL, reported, send, test } from './widget-site.ts'

test('the model calls a function of the page, and the call is shown', async ({ page, sites }) => {
  await sites.open(page, {
    markup: '<halfbyte-chat model="/models/halfbyte-stories.hbm" autoload></halfbyte-chat>',
    script: `Object.assign(document.querySelector('halfbyte-chat'), {
      generateOptions: { temperature: 0, maxTokens: 120 },
      tools: [{
        name: 'calculate', label: 'Calculator', description: 'Works out an arithmetic expression.',
        parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
        execute: ({ expression }) => {
          const [, left, right] = /^(\\d+) \\* (\\d+)$/.exec(expression)
          return { result: left * right }
        },
      }],
    })`,
  })
  await send(page, 'What is 17 times 23?')
  await expect(answersOf(chat(page))).toHaveCount(1)
  const runs = (await reported(page)).filter(({ name }) => name === 'tool').map(({ detail }) => detail)
  expect(runs.map((run) => run?.['state'])).toEqual(['running', 'done'])
  expect(runs[1]).toMatchObject({
    name: 'calculate',
    label: 'Calculator',
    arguments: { expression: '17 * 23' },
  })
  await expect(answersOf(chat(page))).toContainText('391')
  await chat(page).getByText('Done: Calculator').click()
  await expect(chat(page).locator('.tool pre').last()).toHaveText('{"result":391}')
  expect(await blocked(page)).toEqual([])
})

test('the widget finds passages of the documents for a question, and quotes them with their source', async ({
  page,
  sites,
}) => {
  await sites.open(page, {
    markup: `<halfbyte-chat model="${MODEL}" autoload></halfbyte-chat>`,
    script: `Object.assign(document.querySelector('halfbyte-chat'), {
      generateOptions: { temperature: 0, maxTokens: 20 },
      documents: [
        { title: 'Returns', url: '/returns', text: 'Lanterns may be returned within thirty days of delivery.' },
        { title: 'Opening hours', text: 'The shop is open from nine to five on weekdays.' },
        { title: 'Care', text: 'Dry the kettle after use, and descale it with vinegar.' },
        { title: 'Delivery', text: 'Parcels take three days within the country.' },
        { title: 'Gifts', text: 'We wrap presents in paper with stars.' },
      ],
    })`,
  })
  await send(page, 'May lanterns be returned?')
  await expect(answersOf(chat(page))).toHaveCount(1)
  await chat(page).getByText('Sources (1)').click()
  await expect(chat(page).getByRole('link', { name: 'Returns' })).toHaveAttribute(
    'href',
    '/returns#:~:text=Lanterns%20may%20be%20returned%20within%20thirty%20days%20of',
  )
  await expect(chat(page).locator('.sources blockquote').first()).toHaveText(
    'Lanterns may be returned within thirty days of delivery.',
  )
  await expect(chat(page).locator('.message.user .body')).toHaveText('May lanterns be returned?')
  await expect(field(page)).toBeEnabled()
  expect(await blocked(page)).toEqual([])
})

const GUIDE = ['The kettle sings.', 'Lanterns glow at night.', 'Parcels take three days.'].map((line) =>
  `${line} `.repeat(Math.ceil(301 / line.length)).trim(),
)
const withDocuments = (embedder: string) => ({
  markup: `<halfbyte-chat model="${MODEL}" embedder="${embedder}" autoload></halfbyte-chat>`,
  script: `Object.assign(document.querySelector('halfbyte-chat'), {
    generateOptions: { temperature: 0, maxTokens: 10 },
    documents: [{ title: 'Guide', url: '/guide#top', text: ${JSON.stringify(GUIDE.join('\n\n'))} }],
  })`,
})

test('an encoder finds the passages, which are quoted with their location', async ({ page, sites }) => {
  const files = await filesBelow('/encoder/', byPath(bertFolder(randomBert(9))))
  const site = {
    ...withDocuments('/encoder/'),
    files: Object.fromEntries(files.map(({ name, buffer }) => [name, buffer])),
  }
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await sites.open(page, site)
  await send(page, 'When do lanterns glow?')
  await expect(answersOf(chat(page))).toHaveCount(1)
  await chat(page)
    .getByText(/^Sources/)
    .click()
  await expect(chat(page).locator('.sources cite').first()).toHaveText(/^Guide, line [135]$/)
  await expect(chat(page).locator('.sources cite a').first()).toHaveAttribute(
    'href',
    /^\/guide#top:~:text=[\w%.]+$/,
  )
  expect(asked).toContain('/cdn/workers/embedder.worker.js')
  expect((await reported(page)).filter(({ name }) => name === 'error')).toEqual([])
  expect(await blocked(page)).toEqual([])
})

test('if the encoder does not load, the page gets an event, and passages are found by their words', async ({
  page,
  sites,
}) => {
  await sites.open(page, withDocuments('/nothing/'))
  await send(page, 'When do lanterns glow?')
  await expect(answersOf(chat(page))).toHaveCount(1)
  await chat(page)
    .getByText(/^Sources/)
    .click()
  await expect(chat(page).locator('.sources blockquote').first()).toContainText('Lanterns')
  const errors = (await reported(page)).filter(({ name }) => name === 'error')
  expect(errors.map(({ detail }) => detail?.['code'])).toEqual(['network'])
})

const RENT = 'My flat has 54 square metres at 13.50 each. What do I pay?'
const CALL = { name: 'calculate', arguments: { expression: '54 * 13.50' } }

for (const [how, model, replies] of [
  ['before its answer', { parameters: 5e8 }, [JSON.stringify(CALL), 'You pay 729.', 'Bye.']],
  [
    'through its template',
    { parameters: 3e9, readsTools: true },
    [{ toolCalls: [CALL] }, 'You pay 729.', 'Bye.'],
  ],
] as const)
  test(`with tools="assist" a model uses the calculator ${how}, and the step is shown`, async ({
    page,
    sites,
  }) => {
    // The page has no bundler to resolve the package's dependency.
    await page.route(/\/[\w-]+\.js$/, async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replaceAll('from "comlink"', 'from "/comlink.js"')
      await route.fulfill({ response, body })
    })
    await sites.open(page, {
      files: { '/comlink.js': readFileSync('node_modules/comlink/dist/esm/comlink.mjs') },
      markup: '<halfbyte-chat tools="assist"></halfbyte-chat>',
      script: `const { fakeEngine } = await import('/testing.js')
        document.querySelector('halfbyte-chat').engine = await fakeEngine(${JSON.stringify(replies)}, { model: ${JSON.stringify(model)} })`,
    })
    await expect.poll(() => chat(page).evaluate((element) => (element as HalfbyteChat).state)).toBe('ready')
    await send(page, RENT)
    await expect(answersOf(chat(page))).toHaveText('You pay 729.')
    const runs = (await reported(page)).filter(({ name }) => name === 'tool').map(({ detail }) => detail)
    expect(runs.at(-1)).toMatchObject({ label: 'Calculator', ...CALL, state: 'done', result: '729' })
    await chat(page).getByText('Done: Calculator').click()
    await expect(chat(page).locator('.tool pre').last()).toHaveText('729')
    await page.screenshot({ path: `build/screens/widget-tools-${model.parameters}.png` })
    await send(page, 'Thank you!')
    await expect(answersOf(chat(page)).last()).toHaveText('Bye.')
    await expect(chat(page).locator('.tool')).toHaveCount(1)
    expect((await reported(page)).filter(({ name }) => name === 'error')).toEqual([])
    expect(await blocked(page)).toEqual([])
  })
