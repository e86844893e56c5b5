/** Whether every word that was typed begins, or is within, a word of the name. */
export function matches(typed: string, name: string): boolean {
  const text = name.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
