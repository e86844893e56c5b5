/** An operator in somebody's allocation: only with a reason, and everybody is told. */

import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, lazy, Suspense, useCallback, useEffect, useState } from 'react';
import { breakGlassTicket } from '@/api/access';
import { access, common } from '@/strings';
import { Button, buttonLook } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Input } from '@/ui/Form';
import { Icon } from '@/ui/Icon';
import { Id } from '@/ui/Values';

const text = access.platform;
const Panel = lazy(async () => ({ default: (await import('@/terminal/Panel')).Panel }));

export function BreakGlass() {
  const { allocation = '' } = useParams({ strict: false }) as { allocation?: string };
  const [reason, setReason] = useState<string>();
  useEffect(() => {
    document.title = `${text.glass} · ${common.product}`;
  }, []);
  return (
    <div className="flex h-dvh flex-col bg-canvas">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b bg-bad-soft px-3 py-2 text-bad">
        <Icon name="warn" />
        <h1 className="font-semibold">{reason ? text.glassHere(reason) : text.glassTitle}</h1>
        <span className="text-ink">
          <Id id={allocation} />
        </span>
        <span className="grow" />
        <Link to="/platform/sessions" className={buttonLook('plain', true)}>
          {text.glassLeave}
        </Link>
      </header>
      <main className="min-h-0 grow">
        {reason ? <Inside allocation={allocation} reason={reason} /> : <Ask onReason={setReason} />}
      </main>
    </div>
  );
}

function Ask({ onReason }: { onReason: (reason: string) => void }) {
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim()) onReason(typed.trim());
  };
  return (
    <div className="mx-auto max-w-lg p-4 pt-10">
      <Card title={text.glass} lead={text.glassLead}>
        <form className="space-y-4" onSubmit={submit}>
          <Input
            label={text.glassReason}
            hint={text.glassReasonHint}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <Button type="submit" kind="danger" disabled={!typed.trim()}>
            {text.glassEnter}
          </Button>
        </form>
      </Card>
    </div>
  );
}

function Inside({ allocation, reason }: { allocation: string; reason: string }) {
  const navigate = useNavigate();
  // Each entry is one of its own: nothing of it is found again.
  const [place] = useState(() => `glass.${allocation}.${Date.now()}`);
  const leave = useCallback(() => void navigate({ to: '/platform/sessions' }), [navigate]);
  return (
    <div className="flex h-full flex-col bg-surface">
      <div className="min-h-0 grow">
        <Suspense fallback={<p className="p-4 text-faint">{access.terminal.loading}</p>}>
          <Panel
            place={place}
            name={allocation}
            hosts={[]}
            ticket={() => breakGlassTicket(allocation, reason)}
            isTall
            canResume={false}
            onEmpty={leave}
          />
        </Suspense>
      </div>
      <p className="border-t px-3 py-1.5 text-sm text-faint">{text.glassOnce}</p>
    </div>
  );
}
