import { type ReactNode, useEffect } from 'react';
import { common } from '@/strings';

interface Props {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  /** Where the reader came from, above the title. */
  above?: ReactNode;
  children: ReactNode;
}

export function Page({ title, lead, actions, above, children }: Props) {
  useEffect(() => {
    document.title = `${title} · ${common.product}`;
  }, [title]);
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6 md:px-8 md:py-8">
      <header className="mb-6 flex flex-wrap items-end gap-x-6 gap-y-3">
        <div className="min-w-0 grow">
          {above && <div className="mb-1 text-sm text-faint">{above}</div>}
          <h1 className="text-2xl font-semibold tracking-tight break-words">{title}</h1>
          {lead && <div className="mt-1 text-soft">{lead}</div>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div className="space-y-5">{children}</div>
    </div>
  );
}
