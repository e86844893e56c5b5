/** Tables as CSV, for spreadsheets. */

/** A text that nobody could choose, such as a number with all of its digits. */
export interface Plain {
  plain: string;
}

export type Cell = string | number | Plain;

/** A cell; text that a spreadsheet would run as a formula is made plain. */
function cell(value: Cell): string {
  const text = typeof value === 'object' ? value.plain : String(value);
  const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]|^ | $/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

export function csv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

/** Hands a file to the reader. */
export function save(name: string, media: string, content: BlobPart): void {
  const address = URL.createObjectURL(new Blob([content], { type: media }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
