/** Where there is no page, and where one broke. */

import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { PageAwayError } from '@/api/problem';
import { isThere, reach } from '@/session/reach';
import { useStore } from '@/session/store';
import { common } from '@/strings';
import { Button, buttonLook } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';

export function NotFound() {
  return (
    <main className="mx-auto grid min-h-[60dvh] max-w-md place-content-center gap-3 p-6 text-center">
      <h1 className="text-2xl font-semibold">{common.notFound}</h1>
      <p className="text-soft">{common.notFoundAdvice}</p>
      <p>
        <Link to="/" className={buttonLook('primary')}>
          {common.home}
        </Link>
      </p>
    </main>
  );
}

/** Only a server that is there can be asked for the page; another one would leave nothing to see. */
async function openAgain(): Promise<void> {
  if (await isThere()) location.reload();
  else reach.set('away');
}

export function Crashed({ error }: { error: unknown }) {
  const at = useStore(reach);
  // A page that was never there holds nothing typed: it is opened when the server is back.
  useEffect(() => {
    if (error instanceof PageAwayError && at === 'here') location.reload();
  }, [error, at]);
  return (
    <div className="mx-auto max-w-xl space-y-4 p-6">
      <Failure error={error} />
      <Button onClick={() => void openAgain()}>{common.retry}</Button>
    </div>
  );
}
