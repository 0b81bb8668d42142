// Writes PDFs of plain text, one string per page.

interface PdfOptions {
  /** Declares encryption with an unknown password. */
  readonly isLocked?: boolean
}

/** A PDF 1.4 with a cross-reference table, in Helvetica. */
export function pdfFile(pages: readonly string[], { isLocked = false }: PdfOptions = {}): Buffer {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ')
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((text, index) => {
      const stream = `BT /F1 12 Tf 40 700 Td (${text.replaceAll(/[()\\]/g, '\\$&')}) Tj ET`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + 2 * index} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ]
    }),
  ]
  if (isLocked) {
    const hash = '00'.repeat(32)
    objects.push(`<< /Filter /Standard /V 1 /R 2 /O <${hash}> /U <${hash}> /P -4 >>`)
  }
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const lock = isLocked ? ` /Encrypt ${objects.length} 0 R /ID [<00> <00>]` : ''
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R${lock} >>\nstartxref\n${file.length}\n%%EOF\n`
  return Buffer.from(
    `${file}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}${trailer}`,
    'latin1',
  )
}
