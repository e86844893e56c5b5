/** The frame of pages that are seen before signing in. */

import { type ReactNode, useEffect } from 'react';
import { common, signIn } from '@/strings';

export function Outside({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${common.product}`;
  }, [title]);
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex flex-col items-center gap-3 text-center">
          <img src="/favicon.svg" alt="" className="size-11" />
          <div>
            <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
            <p className="mt-0.5 text-soft">{signIn.lead}</p>
          </div>
        </div>
        <div className="rounded-xl border bg-surface p-6 shadow-low">{children}</div>
      </div>
    </main>
  );
}
