// A random vision model: a language model and its vision tower.
import { ggufFile } from '../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../test/conformance/testing/random-llama.ts'
import { randomTower, towerFile } from '../../test/conformance/vision/random-tower.ts'

const MODEL = randomLlama({ seed: 38, gain: 1.5, speaks: true, contextLength: 1024 })
const TOWER = randomTower(4, {
  ...{ width: MODEL.config.hidden_size, merge: 2, grid: 4, patch: 3 },
  projector: 'idefics3',
})
const TEMPLATE = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'

/** `model.gguf` and `mmproj.gguf`. Its tiles are 24 pixels wide. */
export async function seeingModel(): Promise<readonly File[]> {
  const metadata = { 'tokenizer.chat_template': ['string', TEMPLATE] as const }
  const tower = await towerFile(TOWER, { change: { 'clip.vision.preproc_image_size': ['u32', 24] } })
  const model = await ggufFile(MODEL, 'F32', { metadata })
  return [new File([model], 'model.gguf'), new File([tower], 'mmproj.gguf')]
}
