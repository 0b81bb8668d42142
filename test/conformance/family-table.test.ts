// The table of families in the guide. In: the families of the source, and what they are compared with. Out:
// the same table as the page has.
import { expect, test } from 'vitest'
import { familyTable, writtenTable } from './testing/families/family-table.ts'

// After a change on purpose: node test/conformance/testing/families/family-table.ts
test('docs/guide/models.md has a row for each family, as the source has it', async () => {
  expect(writtenTable()).toBe(await familyTable())
})
