import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { operations, platform } from '@/strings';
import { Card } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { type Block, blocks, type Span } from './markdown';
import { readRunbook } from './runbooks';

const text = operations.runbooks;

/** What to do about an error, as docs/runbooks has it. */
export function RunbookPage() {
  const { runbook = '' } = useParams({ strict: false }) as { runbook?: string };
  const query = useQuery({
    queryKey: ['runbook', runbook],
    queryFn: async () => blocks((await readRunbook(runbook)) ?? `# ${text.unknown}`),
    staleTime: Infinity,
  });
  return (
    <Answer query={query} lines={8}>
      {([first, ...rest]) => (
        <Page
          title={first?.kind === 'heading' ? first.spans.map((it) => it.text).join('') : text.title}
          above={
            <Link to="/platform/work" className="hover:underline">
              {platform.work.title}
            </Link>
          }
        >
          <Card>
            <div className="max-w-3xl space-y-4 leading-relaxed">
              {rest.map((block, at) => (
                <Shown key={at} block={block} />
              ))}
            </div>
          </Card>
        </Page>
      )}
    </Answer>
  );
}

function Shown({ block }: { block: Block }) {
  if (block.kind === 'code') {
    return (
      <pre
        tabIndex={0}
        className="overflow-x-auto rounded-lg border bg-sunken px-3 py-2.5 font-mono text-xs leading-relaxed"
      >
        {block.text}
      </pre>
    );
  }
  if (block.kind === 'heading') return <h2 className="pt-1 font-semibold">{words(block.spans)}</h2>;
  if (block.kind === 'paragraph') return <p>{words(block.spans)}</p>;
  const items = block.items.map((it, at) => <li key={at}>{words(it)}</li>);
  if (block.isNumbered) return <ol className="list-decimal space-y-1.5 pl-5">{items}</ol>;
  return <ul className="list-disc space-y-1.5 pl-5">{items}</ul>;
}

function words(spans: readonly Span[]): ReactNode {
  return spans.map((span, at) => {
    if (span.kind === 'strong') return <strong key={at}>{span.text}</strong>;
    if (span.kind === 'code') {
      return (
        <code key={at} className="rounded bg-sunken px-1 py-0.5 font-mono text-xs break-words">
          {span.text}
        </code>
      );
    }
    if (span.kind === 'link') {
      const other = /^(?:\.\/)?([a-z-]+)\.md$/.exec(span.to)?.[1];
      if (!other) return <em key={at}>{span.text}</em>;
      return (
        <Link
          key={at}
          to="/platform/runbooks/$runbook"
          params={{ runbook: other }}
          className="text-accent-ink underline"
        >
          {span.text}
        </Link>
      );
    }
    return span.text;
  });
}
