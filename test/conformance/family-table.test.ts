// The table of families in the guide. In: the families in the source, and what they are compared with. Out:
// the same table as in the page.
import { expect, test } from 'vitest'
import { familyTable, writtenTable } from './testing/families/family-table.ts'

// After a deliberate change: node test/conformance/testing/families/family-table.ts
test('docs/guide/models.md has a row for each family in the source', async () => {
  expect(writtenTable()).toBe(await familyTable())
})
