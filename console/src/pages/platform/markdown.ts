/** The little of Markdown that runbooks use, as parts to draw; nothing of it is ever markup. */

export type Span =
  { kind: 'text' | 'strong' | 'code'; text: string } | { kind: 'link'; text: string; to: string };
export type Block =
  | { kind: 'heading'; level: number; spans: Span[] }
  | { kind: 'paragraph'; spans: Span[] }
  | { kind: 'list'; isNumbered: boolean; items: Span[][] }
  | { kind: 'code'; text: string };

const SPAN = /\*\*(.+?)\*\*|`([^`]+)`|\[([^\]]+)\]\(([^)]+)\)/g;

export function spans(line: string): Span[] {
  const found: Span[] = [];
  let end = 0;
  for (const match of line.matchAll(SPAN)) {
    if (match.index > end) found.push({ kind: 'text', text: line.slice(end, match.index) });
    if (match[1] !== undefined) found.push({ kind: 'strong', text: match[1] });
    else if (match[2] !== undefined) found.push({ kind: 'code', text: match[2] });
    else found.push({ kind: 'link', text: match[3] ?? '', to: match[4] ?? '' });
    end = match.index + match[0].length;
  }
  if (end < line.length) found.push({ kind: 'text', text: line.slice(end) });
  return found;
}

export function blocks(markdown: string): Block[] {
  const found: Block[] = [];
  const lines = markdown.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const heading = /^(#{1,4}) (.+)$/.exec(line);
    const item = /^(-|\d+\.) (.+)$/.exec(line);
    const last = found.at(-1);
    if (line.startsWith('```')) {
      const close = lines.findIndex((it, index) => index > at && it.startsWith('```'));
      const end = close === -1 ? lines.length : close;
      found.push({ kind: 'code', text: lines.slice(at + 1, end).join('\n') });
      at = end;
    } else if (heading) {
      found.push({ kind: 'heading', level: heading[1]?.length ?? 1, spans: spans(heading[2] ?? '') });
    } else if (item) {
      const isNumbered = item[1] !== '-';
      const words = spans(item[2] ?? '');
      if (last?.kind === 'list' && last.isNumbered === isNumbered && lines[at - 1] !== '')
        last.items.push(words);
      else found.push({ kind: 'list', isNumbered, items: [words] });
    } else if (line.trim() !== '') {
      found.push({ kind: 'paragraph', spans: spans(line.trim()) });
    }
  }
  return found;
}
