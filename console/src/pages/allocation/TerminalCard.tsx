import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { terminalTicket } from '@/api/access';
import type { Allocation } from '@/api/compute';
import { useMay, useOrg } from '@/shell/organization';
import { recallHere } from '@/shell/remember';
import { access } from '@/strings';
import { Button, buttonLook } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Icon } from '@/ui/Icon';
import { Command } from '@/ui/Values';

const text = access.terminal;
const Panel = lazy(async () => ({ default: (await import('@/terminal/Panel')).Panel }));

/** What the panel needs to know of an allocation. */
export function panelOf(allocation: Allocation) {
  return {
    place: allocation.id,
    name: allocation.name ?? allocation.id,
    hosts: allocation.parts.map((it) => ({ node: it.node_id, name: it.host ?? it.node_id.slice(-6) })),
    ticket: (asked: { resume?: string; node?: string }) => terminalTicket(allocation, asked),
  };
}

interface Props {
  allocation: Allocation;
  /** A shell that somebody wants to come back to. */
  resume: string | undefined;
}

export function TerminalCard({ allocation, resume }: Props) {
  const org = useOrg();
  const may = useMay('use');
  // What was open before a reload is opened again by itself.
  const [isOpen, setOpen] = useState(() => recallHere(`terminal.${allocation.id}`) !== undefined);
  const isActive = allocation.state === 'active';
  if (!may || !(isActive || isOpen)) return null;
  const name = allocation.name ?? allocation.id;
  const isShown = isOpen || resume !== undefined;
  return (
    <Card flush className="overflow-hidden">
      <div id="terminal">
        {isShown ? (
          <Suspense fallback={<p className="p-4 text-faint">{text.loading}</p>}>
            <Panel
              {...panelOf(allocation)}
              resume={resume}
              onEmpty={() => setOpen(false)}
              actions={
                <Link
                  to="/o/$org/allocations/$project/$allocation/terminal"
                  params={{ org, project: allocation.project_id, allocation: allocation.id }}
                  aria-label={text.fullScreen}
                  title={text.fullScreen}
                  className={buttonLook('quiet', true)}
                >
                  <Icon name="expand" size={15} />
                </Link>
              }
            />
          </Suspense>
        ) : (
          <div className="grid items-center gap-x-6 gap-y-3 p-4 md:grid-cols-[auto_1fr_auto]">
            <span className="grid size-10 place-items-center rounded-full bg-accent-soft text-accent-ink max-md:hidden">
              <Icon name="terminal" size={20} />
            </span>
            <div className="min-w-0">
              <h2 className="font-semibold">{text.lead}</h2>
              <p className="text-sm text-faint">{text.openLead}</p>
            </div>
            <div className="flex min-w-0 flex-wrap items-center gap-3">
              <Command>{text.command(name)}</Command>
              <Button kind="primary" onClick={() => setOpen(true)}>
                {text.open}
              </Button>
            </div>
          </div>
        )}
      </div>
    </Card>
  );
}
