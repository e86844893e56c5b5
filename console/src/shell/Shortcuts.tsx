/** The help sheet: every key that works anywhere. */

import { useQuery } from '@tanstack/react-query';
import { whoamiQuery } from '@/api/people';
import { shell } from '@/strings';
import { Dialog } from '@/ui/Dialog';
import { PLACES } from './pages';
import { GO } from './shortcuts';

function Keys({ keys }: { keys: readonly string[] }) {
  return (
    <span className="inline-flex gap-1">
      {keys.map((key) => (
        <kbd
          key={key}
          className="grid min-w-6 place-items-center rounded border bg-sunken px-1.5 py-0.5 font-mono text-xs"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}

export function Shortcuts({ onClose }: { onClose: () => void }) {
  const me = useQuery(whoamiQuery());
  const isStaff = Boolean(me.data?.user?.platform_role);
  const places = Object.entries(GO).filter(([, to]) => isStaff || !to.startsWith('/platform'));
  const rows: [readonly string[], string][] = [
    [['Ctrl', 'K'], shell.palette],
    [['/'], shell.search],
    [['c'], shell.actions.launch],
    [['?'], shell.shortcuts],
    [['Esc'], shell.closes],
    ...places.map(([letter, to]): [readonly string[], string] => [
      ['g', letter],
      PLACES.find((it) => it.to === to)?.name ?? to,
    ]),
  ];
  return (
    <Dialog title={shell.shortcuts} lead={shell.shortcutsLead} onClose={onClose}>
      <dl className="grid gap-x-8 gap-y-2 sm:grid-cols-2">
        {rows.map(([keys, name]) => (
          <div key={keys.join(' ')} className="flex items-center justify-between gap-3">
            <dt className="text-soft">{name}</dt>
            <dd>
              <Keys keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
