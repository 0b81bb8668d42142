// Presets. In: the built chat page with several conversations. Out: whether each keeps its instructions and
// sampling, whether presets can be saved, applied and deleted, and whether the model's recommended values are
// labelled as such.
import { expect, type Page, test } from '@playwright/test'
import { jsonFile, safetensorsFiles } from '../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../test/conformance/testing/random-llama.ts'
import { violations } from '../violations.ts'
import {
  ask,
  openChat,
  openModels,
  openSettings,
  overflowing,
  ready,
  set,
  unfoldSettings,
} from './chat-page.ts'

const instructions = (page: Page) => page.getByLabel('Instructions for the model')
const temperature = (page: Page) => page.getByLabel('Temperature', { exact: true })
const preset = (page: Page) => page.getByLabel('Preset', { exact: true })

/** Reads the open conversation's own settings. */
async function held(page: Page): Promise<readonly [string, string]> {
  await openSettings(page)
  await unfoldSettings(page)
  const values = [await instructions(page).inputValue(), await temperature(page).inputValue()] as const
  await page.getByRole('button', { name: 'Done' }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  return values
}

test('a conversation keeps its settings, even after a reload, and new ones start with the defaults', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '8', 'Instructions for the model': 'Be kind.' })
  await ask(page, 'Hello!')
  await set(page, { 'Instructions for the model': 'Be brief.', Temperature: '0.3' })
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  expect(await held(page)).toEqual(['Be kind.', '0.5'])
  await set(page, { 'Instructions for the model': 'Be calm.' })
  await ask(page, 'How are you?')
  await page.goBack()
  await expect(page.locator('.message.user .body')).toHaveText('Hello!')
  expect(await held(page)).toEqual(['Be brief.', '0.3'])
  await page.reload()
  await ready(page)
  expect(await held(page)).toEqual(['Be brief.', '0.3'])
  await openSettings(page)
  await page.getByRole('button', { name: 'Use as defaults for new conversations' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  expect(await held(page)).toEqual(['Be brief.', '0.3'])
  expect(problems).toEqual([])
})

test('a preset can be saved, applied to just one other conversation, and deleted', async ({ page }) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '8', 'Instructions for the model': 'Be brief.', Temperature: '0.3' })
  await openSettings(page)
  await page.getByRole('button', { name: 'Save as a preset' }).click()
  await expect(page.getByLabel('Preset name')).toBeFocused()
  await page.keyboard.type('Short answers')
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/preset-name.png' })
  await page.keyboard.press('Enter')
  await expect(preset(page)).toBeFocused()
  await expect(preset(page)).toHaveValue('Short answers')
  await instructions(page).fill('Be kind.')
  await instructions(page).blur()
  await expect(preset(page)).toHaveValue('')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.reload()
  await ready(page)
  await openSettings(page)
  await preset(page).selectOption('Short answers')
  await expect(instructions(page)).toHaveValue('Be brief.')
  await preset(page).scrollIntoViewIfNeeded()
  expect(await overflowing(page)).toEqual([])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violations(page)).toEqual([])
  }
  await page.screenshot({ path: 'build/screens/presets.png' })
  await page.getByRole('button', { name: 'Done' }).click()
  await ask(page, 'Hello!')
  expect(await held(page)).toEqual(['Be brief.', '0.3'])
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  expect((await held(page))[0]).toBe('Be kind.')
  await openSettings(page)
  await preset(page).selectOption('Short answers')
  await page.getByRole('button', { name: 'Delete preset Short answers' }).click()
  await expect(preset(page)).toBeFocused()
  await expect(preset(page).getByRole('option')).toHaveCount(1)
  await expect(page.getByRole('button', { name: 'Save as a preset' })).toBeVisible()
  expect(problems).toEqual([])
})

test('a value that the model recommends is labelled as the model’s, and a changed value applies to that model only', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await set(page, { Temperature: '0.4', 'Longest answer': '8' })
  const recommended = jsonFile('generation_config.json', { temperature: 0.6, top_p: 0.85 })
  const files = [...safetensorsFiles(randomLlama({ seed: 38, speaks: true })), recommended]
  const picked = await Promise.all(
    files.map(async (file) => ({
      name: file.name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(await file.arrayBuffer()),
    })),
  )
  await openModels(page)
  await page.locator('#files').setInputFiles(picked)
  await expect(page.getByRole('button', { name: /^Model: model\.safetensors/ })).toBeVisible()
  await ready(page)
  await openSettings(page)
  await unfoldSettings(page)
  await expect(temperature(page)).toHaveValue('0.6')
  await expect(temperature(page)).toHaveAccessibleDescription(/This is the model’s own value/)
  await expect(page.getByLabel('Min p', { exact: true })).not.toHaveAccessibleDescription(/own value/)
  await temperature(page).fill('0.9')
  await temperature(page).blur()
  await expect(temperature(page)).toHaveAccessibleDescription(/The model’s own value is 0.6/)
  expect(await violations(page)).toEqual([])
  expect(await overflowing(page)).toEqual([])
  await temperature(page).scrollIntoViewIfNeeded()
  await page.screenshot({ path: 'build/screens/recommended.png' })
  await temperature(page).fill('')
  await temperature(page).blur()
  await expect(temperature(page)).toHaveValue('0.6')
  await page.getByRole('button', { name: 'Done' }).click()
  await openModels(page)
  await page.getByRole('button', { name: /^Halfbyte Stories/ }).click()
  await ready(page)
  await openSettings(page)
  await expect(temperature(page)).toHaveValue('0.4')
  expect(problems).toEqual([])
})
