// Past findings: names in files that once made a load read from another host, another repository, or outside
// its folder.
import type { CorpusEntry } from '../corpus.ts'
import { withWeights } from '../targets/names.ts'

const data = (title: string, location: string): CorpusEntry => ({
  title,
  input: () => ({ giver: 'model.onnx', file: withWeights(location) }),
})
const document = (title: string, giver: string, value: unknown): CorpusEntry => ({
  title,
  input: () => ({ giver, file: new TextEncoder().encode(JSON.stringify(value)) }),
})

export const CORPUS: readonly CorpusEntry[] = [
  data('weights on another host after three slashes', './//other.invalid/x?y'),
  data('weights on another host after a blank', ' //other.invalid/x'),
  data('weights in another repository of the hub', './/owner/private/resolve/main/w.bin'),
  data('weights above the folder, by percent codes', '%2e%2e/%2e%2e/w.bin'),
  data('weights after a tab', '.\t./x'),
  data('weights with a query', 'w.bin?delete=1'),
  document('an index that names a file on another host', 'model.safetensors.index.json', {
    weight_map: { w: '//other.invalid/a.safetensors' },
  }),
  document('a pooling module in another repository of the hub', 'modules.json', [
    { type: 'x.Pooling', path: '../../../../owner/private/resolve/main/x' },
  ]),
  document('a Dense module above the folder', 'modules.json', [
    { type: 'x.Pooling', path: '1_Pooling' },
    { type: 'x.Dense', path: '..' },
  ]),
  document('a listing with a name that leads outside', 'listing', [{ path: '../../other/w.gguf' }]),
]
